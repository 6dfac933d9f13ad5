"""What makes the pages and pictures that are not written by hand."""
