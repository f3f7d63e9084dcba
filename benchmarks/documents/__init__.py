"""Documents of many makers, and how well they are read."""
