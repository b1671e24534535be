"""What was observed, and whether it links the items."""
