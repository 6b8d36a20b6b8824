"""Speed relative to other libraries, measured in the same run. ``make bench`` runs all benchmarks."""
