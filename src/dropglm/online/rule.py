"""What an update rule is.

Row t has features x, label y and weight w. With η = b + x·β and p = 1 / (1 + e^-η) its loss has the gradient
g = w (p - y) x and the curvature h_j = w p (1 - p) x_j² along each feature. Every rule is a metric
A_t = diag(a_1, …, a_d), and its step is the minimum of a linearised problem, the paper's equation for
online learning with a ridge beside it: ::

    β_{t+1} = argmin_β  g·β / c + (1 / 2ρ) (β - β_t)ᵀ A_t (β - β_t) + ½ λ ‖β‖²

    β_{t+1,j} = β_{t,j} - (ρ g_j / c + ρ λ β_{t,j}) / (a_j + ρ λ)

a_j is made of a sum s_j over the rows that have feature j, which starts with a value of the rule's own. A
step moves η by ‖x‖² times as much as it moves a coefficient. So that one ρ serves sentences and long texts, c
is the size of a row, c² = mean of 1 + ‖x_i‖² over the rows so far, where A_t is a root; where A_t is
a curvature it has the right scale by itself, and c is 1.

A feature that is not in the row has g_j = 0 and keeps its a_j (that of ``sgd`` grows with t, in the
same way for all), so that all it does is shrink. That is made up for when it is next seen: the cost of
a step follows the row's own entries.

A rule is a named tuple of its settings and seven functions, which Numba picks by its type at compile time, as
it does for the storage of rows.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from dropglm.maths.compile import inlined


class Functions(NamedTuple):
    """The functions of a rule.

    ``slope(rule, eta, y, w, v)``: the slope in η of the loss times its weight w (of ``arow`` a step, hence
    v = Σ x_j² / a_j).
    ``gain(rule, r, w, h)``: the row adds so many x_j² to the sum s_j that the metric is made of, where r and
    h are that slope and the weighted curvature.
    ``start(rule, c2)``: what s_j is before the first of them, for rows of that squared size.
    ``metric(rule, s, t)``: a_j.
    ``scale(rule, c)``: what the gradient is divided by, for rows of that size.
    ``shared(rule)``: whether the metric is the same for all features, and changes with t alone.
    ``late(rule)``: whether a row's gain counts from the next row on.
    """

    slope: Callable
    gain: Callable
    start: Callable
    metric: Callable
    scale: Callable
    shared: Callable
    late: Callable


FUNCTIONS: dict[type, Functions] = {}


@inlined
def logistic_slope(eta, y):
    """P - y, for every finite η."""
    e = np.exp(-abs(eta))
    return (1.0 if eta >= 0.0 else e) / (1.0 + e) - y


def slope(rule: Any, eta: float, y: float, w: float, v: float) -> Any:
    """The slope of the row's loss in η."""
    return FUNCTIONS[type(rule)].slope(rule, eta, y, w, v)


def gain(rule: Any, r: float, w: float, h: float) -> Any:
    """How many x_j² the row adds to s_j."""
    return FUNCTIONS[type(rule)].gain(rule, r, w, h)


def start(rule: Any, c2: float) -> Any:
    """s_j before the first row."""
    return FUNCTIONS[type(rule)].start(rule, c2)


def scale(rule: Any, c: float) -> Any:
    """What the gradient is divided by."""
    return FUNCTIONS[type(rule)].scale(rule, c)


def metric(rule: Any, s: float, t: Any) -> Any:
    """a_j."""
    return FUNCTIONS[type(rule)].metric(rule, s, t)


def shared(rule: Any) -> Any:
    """Whether all features have the same metric."""
    return FUNCTIONS[type(rule)].shared(rule)


def late(rule: Any) -> Any:
    """Whether the row's own gain is left out of its step."""
    return FUNCTIONS[type(rule)].late(rule)


def _functions(numba_type: Any) -> Functions | None:
    return FUNCTIONS.get(getattr(numba_type, "instance_class", type(None)))


@overload(slope)
def _slope(rule, eta, y, w, v):
    found = _functions(rule)
    return found and found.slope


@overload(gain)
def _gain(rule, r, w, h):
    found = _functions(rule)
    return found and found.gain


@overload(start)
def _start(rule, c2):
    found = _functions(rule)
    return found and found.start


@overload(scale)
def _scale(rule, c):
    found = _functions(rule)
    return found and found.scale


@overload(metric)
def _metric(rule, s, t):
    found = _functions(rule)
    return found and found.metric


@overload(shared)
def _shared(rule):
    found = _functions(rule)
    return found and found.shared


@overload(late)
def _late(rule):
    found = _functions(rule)
    return found and found.late
