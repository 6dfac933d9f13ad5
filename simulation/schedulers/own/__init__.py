"""Schedulers that are not ours: found by name, held against a book of the replay's own."""
