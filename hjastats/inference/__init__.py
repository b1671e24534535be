"""How sure we are of an estimate."""
