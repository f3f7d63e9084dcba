"""Kill and load a server that keeps threads."""
