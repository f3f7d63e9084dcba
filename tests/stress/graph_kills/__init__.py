"""Kills in the middle of runs, and what resuming them costs."""
