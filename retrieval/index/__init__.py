"""The index on disk: passages, keywords and vectors in SQLite, and the vector file derived from them."""
