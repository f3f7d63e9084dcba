"""Libraries in PostgreSQL: the store for many machines."""
