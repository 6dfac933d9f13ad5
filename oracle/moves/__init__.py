"""Where instances stand and go: moves, their names, their order, and what they leave behind."""
