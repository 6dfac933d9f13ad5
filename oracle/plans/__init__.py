"""What a plan is made of: its moves, its bounds and their evidence, its frontier, and how it is resumed."""
