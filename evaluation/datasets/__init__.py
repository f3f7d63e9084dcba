"""Question sets in their formats."""
