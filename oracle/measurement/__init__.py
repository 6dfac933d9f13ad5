"""How far a snapshot is from the fewest partial nodes: pools, and tiers of panels in domains."""
