"""Ask a question set through several systems, score what they say, and show how good each is."""
