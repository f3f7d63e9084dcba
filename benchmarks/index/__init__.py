"""What the index finds and how fast it is."""
