"""Damage index files at random, and see whether the index notices."""
