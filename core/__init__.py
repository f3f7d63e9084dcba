"""Types, errors and helpers that all layers share, and that import none of them."""
