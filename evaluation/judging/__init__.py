"""A model's judgements of answers."""
