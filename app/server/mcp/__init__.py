"""The Model Context Protocol: tools for agents, on stdin and stdout or beside the server's other APIs."""
