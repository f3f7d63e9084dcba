"""The HTTP server: an OpenAI-compatible API, a JSON API with events, and the page."""
