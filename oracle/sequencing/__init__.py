"""Moves in an order that never over-books a node: stops, steps, and moves into free space alone."""
