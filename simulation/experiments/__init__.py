"""The paper's tables and figures, and some of ours: one module each, which says only what is its own."""
