"""Speed as a ratio against a named rival, in one run. ``make bench`` runs them all."""
