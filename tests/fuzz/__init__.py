"""Hostile input, by chance, and what became of it: ``python -m tests.fuzz --minutes 5 --seed 0``."""
