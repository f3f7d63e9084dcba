"""What the index finds, how fast it is, and what it withstands."""
