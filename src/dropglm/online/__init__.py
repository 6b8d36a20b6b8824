"""Update rules for learning row by row, one a file."""

from typing import Any

from dropglm.online.adagrad import AdaGrad
from dropglm.online.arow import Arow
from dropglm.online.dropout_descent import DropoutDescent
from dropglm.online.learner import Learner, State
from dropglm.online.sgd import Sgd

RULES: dict[str, Any] = {"adagrad": AdaGrad, "arow": Arow, "dropout": DropoutDescent, "sgd": Sgd}

__all__ = ["RULES", "AdaGrad", "Arow", "DropoutDescent", "Learner", "Sgd", "State"]
