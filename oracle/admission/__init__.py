"""Whether waiting jobs can start, after which moves, and what is in the way if they cannot."""
