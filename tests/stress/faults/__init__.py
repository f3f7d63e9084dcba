"""Many questions against a server that goes wrong in every way that is known."""
