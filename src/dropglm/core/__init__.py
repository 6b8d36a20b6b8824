"""The paper: families, noise, penalties, the objective and its solver. Nothing here knows scikit-learn."""
