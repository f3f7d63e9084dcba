"""Read documents in sandboxed processes, which may crash and can open no other file."""
