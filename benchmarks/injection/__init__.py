"""Whether an instruction inside a document steers the answer: public attack sets against plain RAG and Self-RAG."""
