"""Pictures: one Display a file, in the manner of scikit-learn."""
