"""The fewest partial nodes, the fewest moves, the most room: one integer program, one kind of argument, a solver."""
