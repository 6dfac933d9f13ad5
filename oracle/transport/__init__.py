"""Fewest migrations: how many nodes change from which pattern to which other one, with proof."""
