"""Whether an instruction inside a document steers the answer: a public attack set against plain RAG and Self-RAG."""
