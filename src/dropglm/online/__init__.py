"""Online learning: update rules, one per file, and the loop that applies them row by row."""

from dropglm.online.adagrad import AdaGrad
from dropglm.online.arow import Arow
from dropglm.online.dropout_descent import DropoutDescent
from dropglm.online.learner import DivergenceError, Learner, State
from dropglm.online.progressive import ProgressiveScores
from dropglm.online.rule import Rule
from dropglm.online.rules import RULES, rule_from
from dropglm.online.sgd import Sgd

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
