"""The library: the files and folders it indexes, and the sync that keeps the index up to date with them."""
