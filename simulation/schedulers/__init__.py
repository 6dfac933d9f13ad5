"""Schedulers behind one Protocol (`protocol.Scheduler`), by name."""
