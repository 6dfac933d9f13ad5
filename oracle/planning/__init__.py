"""Plans that mend a snapshot: how few partial nodes, by which moves of whose instances, and at what price."""
