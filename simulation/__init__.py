"""Replay of job traces under many schedulers, with exact fragmentation at every event."""
