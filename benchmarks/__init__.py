"""What the README claims, as commands."""
