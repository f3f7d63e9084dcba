"""Which files and folders a library follows, and how its index is kept in step with them."""
