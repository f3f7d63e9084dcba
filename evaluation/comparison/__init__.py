"""Two systems' answers side by side: what each read and cost, and which the chat model prefers."""
