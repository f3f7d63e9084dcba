"""Read documents in processes that can be lost, and that can open nothing else."""
