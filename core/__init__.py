"""Types, errors and helpers that all layers share; imports none of them."""
