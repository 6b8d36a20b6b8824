"""The paper: families, noise, penalties, the objective and its solver. Nothing here knows scikit-learn.

A fit goes from ``problem`` (rows, labels and settings, in stages) to ``solvers`` (L-BFGS), which evaluates
the ``objective``: loss and penalty of each row from η and s² (``families``, ``penalties``), which come from
passes over the features (``noise``, then the compiled loops of ``design``). ``settings`` makes these objects
from what users pass.
"""
