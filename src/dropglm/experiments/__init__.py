"""The paper's tables and figures, one experiment a file, in the paper's order.

Running, collecting and drawing are steps of their own: each fit leaves a line of raw results, and tables and
figures are made from the lines. ``dropglm reproduce`` is the door.
"""

from dropglm.experiments.docstrings import DOCSTRINGS
from dropglm.experiments.experiment import Comparison, Experiment
from dropglm.experiments.figure_1a import FIGURE_1A
from dropglm.experiments.figure_1b import FIGURE_1B
from dropglm.experiments.figure_a1 import FIGURE_A1
from dropglm.experiments.figure_a2 import FIGURE_A2
from dropglm.experiments.forms import TABLE_OF_FORMS
from dropglm.experiments.imdb import IMDB
from dropglm.experiments.imdb_curves import IMDB_CURVES
from dropglm.experiments.online import ONLINE
from dropglm.experiments.report import comparisons, listing, ready_to_draw, report
from dropglm.experiments.running import run, to_do, wanted
from dropglm.experiments.simulation import SIMULATION
from dropglm.experiments.thirds import THIRDS

EXPERIMENTS: dict[str, Experiment] = {
    "figure-1a": FIGURE_1A,
    "figure-1b": FIGURE_1B,
    "forms": TABLE_OF_FORMS,
    "simulation": SIMULATION,
    "online": ONLINE,
    "imdb-curves": IMDB_CURVES,
    "thirds": THIRDS,
    "imdb": IMDB,
    "docstrings": DOCSTRINGS,
    "figure-a1": FIGURE_A1,
    "figure-a2": FIGURE_A2,
}

__all__ = [
    "EXPERIMENTS",
    "Comparison",
    "Experiment",
    "comparisons",
    "listing",
    "ready_to_draw",
    "report",
    "run",
    "to_do",
    "wanted",
]
