"""What all servers over one PostgreSQL share: threads, runs with their events and checkpoints, and who answers what."""
