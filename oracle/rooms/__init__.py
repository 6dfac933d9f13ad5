"""Room for waiting jobs by few moves, and what stands in the way where there is none."""
