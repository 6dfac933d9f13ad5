"""From a plan at pattern level to nodes and instances, so that few jobs are disturbed."""
