"""Stable scalar functions and how they are compiled. Imports nothing else of ours."""
