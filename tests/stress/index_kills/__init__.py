"""Kill processes that index or search a library, and inspect what they leave."""
