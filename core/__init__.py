"""Types, errors and helpers that all layers share; this package imports no other layer."""
