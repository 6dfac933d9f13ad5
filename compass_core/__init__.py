"""The COMPASS-ABS algorithm, its states and its measures: pure Python, no solver."""
