"""What each rule, fit, check and loop of the graph is worth: the graph is run without it, one at a time."""
