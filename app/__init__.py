"""Self-RAG on the command line: the only place that prints or reads the environment."""

VERSION = "0.1.0"
