"""The paper's tables and figures, one experiment per file, in the paper's order.

Running fits, tabulating and drawing are separate steps: each fit stores a line of raw results, and tables and
figures are made from these lines alone. The command ``dropglm reproduce`` runs the experiments.
"""

from dropglm.experiments.docstrings import Docstrings
from dropglm.experiments.encoders import Encoders
from dropglm.experiments.experiment import Comparison, Experiment, ExperimentRun
from dropglm.experiments.few_labels import FewLabels
from dropglm.experiments.figures import Figure1a, Figure1b, FigureA1, FigureA2
from dropglm.experiments.forms import TableOfForms
from dropglm.experiments.imdb import IMDB, IMDBCurves
from dropglm.experiments.labelling import Labelling
from dropglm.experiments.online import Online
from dropglm.experiments.report import comparisons, list_experiments, report, require_matplotlib
from dropglm.experiments.sequences import Sequences
from dropglm.experiments.simulation import Simulation
from dropglm.experiments.thirds import Thirds

EXPERIMENTS: dict[str, Experiment] = {
    "figure-1a": Figure1a(),
    "figure-1b": Figure1b(),
    "forms": TableOfForms(),
    "simulation": Simulation(),
    "online": Online(),
    "imdb-curves": IMDBCurves(),
    "thirds": Thirds(),
    "imdb": IMDB(),
    "docstrings": Docstrings(),
    "few-labels": FewLabels(),
    "encoders": Encoders(),
    "labelling": Labelling(),
    "sequences": Sequences(),
    "figure-a1": FigureA1(),
    "figure-a2": FigureA2(),
}

__all__ = [
    "EXPERIMENTS",
    "Comparison",
    "Experiment",
    "ExperimentRun",
    "comparisons",
    "list_experiments",
    "report",
    "require_matplotlib",
]
