"""Kill graph runs and measure what resuming them costs."""
