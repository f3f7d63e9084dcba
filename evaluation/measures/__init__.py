"""What an evaluation measures, and how sure that is."""
