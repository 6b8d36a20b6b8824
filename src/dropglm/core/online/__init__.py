"""Online learning: update rules, one per file, and the loop that applies them row by row."""

from dropglm.core.online.adagrad import AdaGrad
from dropglm.core.online.arow import Arow
from dropglm.core.online.dropout_descent import DropoutDescent
from dropglm.core.online.learner import DivergenceError, Learner, State
from dropglm.core.online.progressive import ProgressiveScores
from dropglm.core.online.rule import Rule
from dropglm.core.online.rules import RULES, rule_from
from dropglm.core.online.sgd import Sgd

__all__ = [
    "RULES",
    "AdaGrad",
    "Arow",
    "DivergenceError",
    "DropoutDescent",
    "Learner",
    "ProgressiveScores",
    "Rule",
    "Sgd",
    "State",
    "rule_from",
]
