r"""The contract of an update rule.

Row t has features x, label y and weight w. With η = b + x·β and p = 1 / (1 + e^-η), the gradient of its
loss is g = w (p - y) x and the curvature along feature j is h_j = w p (1 - p) x_j². Every rule is a
diagonal metric A_t = diag(a_1, …, a_d). Its step minimises a linearised problem, the paper's equation for
online learning plus an L2 term: ::

    β_{t+1} = argmin_β  g·β / c + (1 / 2ρ) (β - β_t)ᵀ A_t (β - β_t) + ½ λ ‖β‖²

    β_{t+1,j} = β_{t,j} - (ρ g_j / c + ρ λ β_{t,j}) / (a_j + ρ λ)

The metric a_j is a function of s_j, a sum over the rows that contain feature j; the rule sets its initial
value. A step changes η by ‖x‖² times as much as it changes a coefficient. Where A_t is a square root, the
gradient is therefore divided by c, with c² the mean of 1 + ‖x_i‖² over the rows so far, so that the same ρ
works for sentences and for long texts. Where A_t is a curvature, it already has the right scale, and c is
1.

A feature that is absent from the row has g_j = 0 and keeps its a_j (for ``sgd``, a_j grows with t, equally
for all features), so the step only shrinks its coefficient. The shrinkage is applied when the feature next
occurs, which makes the cost of a step proportional to the number of entries of the row.
"""

import inspect
from typing import Any

import numpy as np
from numba.extending import overload

from dropglm.core.maths.compile import inlined


@inlined
def logistic_slope(eta, y):
    """Return p - y; accurate for every finite η."""
    e = np.exp(-abs(eta))
    return (1.0 if eta >= 0.0 else e) / (1.0 + e) - y


class Rule:
    """Base class of update rules.

    A rule derives from this class and from a ``NamedTuple`` of its settings. All settings are numbers, and
    one of them is ``rate``, the step size ρ. The methods are compiled by Numba, so they may use numbers and
    NumPy functions only. ``increment``, ``initial_sum`` and ``metric`` must be defined; the others have
    defaults.

    See Also
    --------
    dropglm.OnlineLogisticRegression : Learns by a rule.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> class Settings(NamedTuple):
    ...     rate: float = 0.5
    >>> class Perceptron(Rule, Settings):
    ...     def slope(self, eta, y, weight, variance):
    ...         return weight * ((1.0 if eta > 0.0 else 0.0) - y)
    ...     def increment(self, slope, weight, curvature):
    ...         return 0.0
    ...     def initial_sum(self, c2):
    ...         return 1.0
    ...     def metric(self, s, t):
    ...         return 1.0
    >>> from dropglm import OnlineLogisticRegression
    >>> model = OnlineLogisticRegression(rule=Perceptron(), epochs=20)
    >>> model.fit([[0.0], [1.0]], ["a", "b"]).predict([[1.0]])
    array(['b'], dtype='<U1')
    """

    __slots__ = ()

    def slope(self, eta: float, y: float, weight: float, variance: float) -> Any:
        """Return the derivative of the row's weighted loss with respect to η.

        ``variance`` is Σ x_j² / a_j if ``updates_metric_after_step`` is true, else 0.
        """
        return weight * logistic_slope(eta, y)

    def increment(self, slope: float, weight: float, curvature: float) -> Any:
        """Return q, where the row adds q x_j² to s_j; ``curvature`` is w p (1 - p)."""
        raise NotImplementedError

    def initial_sum(self, c2: float) -> Any:
        """Return s_j before the first row that contains feature j; ``c2`` is the mean of 1 + ‖x‖² so far."""
        raise NotImplementedError

    def metric(self, s: float, t: Any) -> Any:
        """Return a_j at step t, given s_j = ``s``."""
        raise NotImplementedError

    def gradient_divisor(self, c: float) -> Any:
        """Return what the gradient is divided by; ``c`` is the root mean square size of the rows so far."""
        return 1.0

    def same_metric_for_all(self) -> Any:
        """Return whether a_j depends on t only, and is the same for all features."""
        return False

    def updates_metric_after_step(self) -> Any:
        """Return whether the row's own increment is left out of the metric of its step."""
        return False


def _calling(name: str) -> Any:
    """Return a function of a rule and further arguments that calls this method of the rule.

    Compiled code calls methods through these functions; the class of the rule is known at compile time.
    """

    def call(rule, *arguments):
        return getattr(rule, name)(*arguments)

    def compiled(rule, *arguments):
        return getattr(rule.instance_class, name)

    compiled.__signature__ = inspect.signature(getattr(Rule, name))  # type: ignore[attr-defined]
    # Not strict: the arguments of a method need not have the names that they have here.
    overload(call, strict=False)(compiled)
    return call


slope = _calling("slope")
increment = _calling("increment")
initial_sum = _calling("initial_sum")
metric = _calling("metric")
gradient_divisor = _calling("gradient_divisor")
same_metric_for_all = _calling("same_metric_for_all")
updates_metric_after_step = _calling("updates_metric_after_step")
