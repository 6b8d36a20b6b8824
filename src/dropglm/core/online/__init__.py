"""Online learning: the update rules, and the loop that applies them row by row."""

from dropglm.core.online.learner import DivergenceError, Learner, ProgressiveScores, State
from dropglm.core.online.rules import RULES, AdaGrad, Arow, DropoutDescent, Rule, Sgd, rule_from

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
