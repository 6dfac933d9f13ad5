"""Pictures of results: what they show is plain data (`model`), how they look is one style (`drawing`)."""
