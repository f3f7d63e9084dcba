"""The index on disk: passages, words and vectors in SQLite, and the vector file derived from them."""
