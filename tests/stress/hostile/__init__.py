"""Attacks on everything that reads bytes from outside or shows them: ``python -m tests.stress.hostile``."""
