"""Ask a question set through several systems, score their answers, and report how good each is."""
