"""Thousands of replays: a grid of cells, run by processes or on a cluster, each kept as soon as it is done."""
