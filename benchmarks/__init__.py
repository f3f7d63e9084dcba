"""Commands that measure what the documentation claims."""
