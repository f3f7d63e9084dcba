"""Rules on a draft that need no model: its claims, their quotes, figures and names, and whether it declines."""
