"""Conversations that are kept: their store, and how their questions are answered."""
