"""Stable scalar functions, algebra on long vectors, and how functions are compiled."""
