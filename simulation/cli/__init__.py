"""The command `compass-sim`."""
