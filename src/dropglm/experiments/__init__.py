"""The paper's tables and figures, one experiment a file.

Running, collecting and drawing are steps of their own: each fit leaves a line of raw results, and tables and
figures are made from the lines. ``dropglm reproduce`` is the door.
"""

from dropglm.experiments.experiment import Comparison, Experiment
from dropglm.experiments.online import ONLINE
from dropglm.experiments.running import listing, report, run, wanted

EXPERIMENTS: dict[str, Experiment] = {"online": ONLINE}

__all__ = ["EXPERIMENTS", "Comparison", "Experiment", "listing", "report", "run", "wanted"]
