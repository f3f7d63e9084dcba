"""Conversations that are kept: their store, how their questions are answered, and how they are exported."""
