"""Snapshots of clusters: one model, and a reader for each format people have."""
