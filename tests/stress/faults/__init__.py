"""Ask many questions of a server with injected faults."""
