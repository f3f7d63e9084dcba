"""What code can say about a draft without a model: its claims, their quotes, their figures, its refusal."""
