r"""Update rules of online learning, and how the settings of an estimator become a rule.

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

from typing import Any, NamedTuple

import numpy as np

from dropglm.base import checks
from dropglm.base.errors import InputError, InputTypeError
from dropglm.base.registry import lookup, quoted
from dropglm.core.families import logistic


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
        p = logistic(eta)[1]
        return weight * (p - y)

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


class _SgdSettings(NamedTuple):
    rate: float = 4.0


class Sgd(Rule, _SgdSettings):
    """Stochastic gradient descent: the same step size for frequent and for rare features, a_j = √t.

    β_{t+1} = β_t - (ρ / c √t) g_t

    Parameters
    ----------
    rate : float, default=4.0
        Step size ρ.

    See Also
    --------
    Rule : The interface.
    dropglm.OnlineLogisticRegression : Learns by a rule.

    Examples
    --------
    >>> from dropglm import OnlineLogisticRegression
    >>> from dropglm.core.online import Sgd
    >>> model = OnlineLogisticRegression(rule=Sgd(rate=2.0))
    >>> model.fit([[0.0], [1.0]], ["a", "b"]).predict([[1.0]])
    array(['b'], dtype='<U1')
    """

    __slots__ = ()

    def increment(self, slope: float, weight: float, curvature: float) -> Any:
        """Return 0: there is nothing to sum."""
        return 0.0

    def initial_sum(self, c2: float) -> Any:
        """Return 1, which is not used."""
        return 1.0

    def metric(self, s: float, t: Any) -> Any:
        """Return √t."""
        return np.sqrt(t)

    def gradient_divisor(self, c: float) -> Any:
        """Return c: the metric is a square root."""
        return c

    def same_metric_for_all(self) -> Any:
        """Return True."""
        return True


class _AdaGradSettings(NamedTuple):
    rate: float = 1.0
    initial: float = 1e-2


class AdaGrad(Rule, _AdaGradSettings):
    """AdaGrad: larger steps for features whose gradients have been small so far, rare features above all.

    A_t = diag(G_t)^½ with G_t = Σ_{i ≤ t} g_i g_iᵀ (Duchi, Hazan and Singer): ::

        β_{t+1,j} = β_{t,j} - (ρ / c) g_j / √(ε + Σ_i g_ij²)

    Parameters
    ----------
    rate : float, default=1.0
        Step size ρ.
    initial : float, default=0.01
        The ε of the formula: the value of the sum before the first row.

    See Also
    --------
    Rule : The interface.
    dropglm.OnlineLogisticRegression : Learns by a rule.

    Examples
    --------
    >>> from dropglm import OnlineLogisticRegression
    >>> from dropglm.core.online import AdaGrad
    >>> model = OnlineLogisticRegression(rule=AdaGrad(rate=0.5))
    >>> model.fit([[0.0], [1.0]], ["a", "b"]).predict([[1.0]])
    array(['b'], dtype='<U1')
    """

    __slots__ = ()

    def increment(self, slope: float, weight: float, curvature: float) -> Any:
        """Return r², so that s_j sums the squared gradients."""
        return slope * slope

    def initial_sum(self, c2: float) -> Any:
        """Return ε."""
        return self.initial

    def metric(self, s: float, t: Any) -> Any:
        """Return √s_j."""
        return np.sqrt(s)

    def gradient_divisor(self, c: float) -> Any:
        """Return c: the metric is a square root."""
        return c


class _DropoutSettings(NamedTuple):
    rate: float = 0.75
    initial: float = 0.1
    power: float = 1.0


class DropoutDescent(Rule, _DropoutSettings):
    """Dropout descent: steps scaled by the curvature that each feature has accumulated.

    A_t = diag(H_t) with H_t = Σ_{i ≤ t} ∇²ℓ_i, the dropout penalty in place of the L2 penalty: ::

        β_{t+1,j} = β_{t,j} - ρ g_j / (ε c² + Σ_i h_ij),   h_ij = A''(η_i) x_ij²

    Each h_ij is evaluated at the η_i that was predicted when row i arrived. Like G_t of AdaGrad, H_t / t
    approaches the Fisher information on well-specified data. The sum of a feature starts at ε c², a fraction
    ε of the squared size of a row, so that a first row, all of whose features are new, changes η by about
    1 / ε times its slope, whatever its length.

    AdaGrad takes the square root of its sum, which makes its steps larger. ``power`` = ½ does the same here:
    the metric is √(ε + Σ_i h_ij), and as in AdaGrad the gradient is divided by c.

    Parameters
    ----------
    rate : float, default=0.75
        Step size ρ.
    initial : float, default=0.1
        The ε of the formula: the curvature before the first row; it acts as an L2 penalty around the
        starting point.
    power : {1, 0.5}, default=1
        Exponent of the sum; ½ is for comparison with AdaGrad.

    See Also
    --------
    Rule : The interface.
    dropglm.OnlineLogisticRegression : Learns by a rule.

    Examples
    --------
    >>> from dropglm import OnlineLogisticRegression
    >>> from dropglm.core.online import DropoutDescent
    >>> model = OnlineLogisticRegression(rule=DropoutDescent(rate=0.5))
    >>> model.fit([[0.0], [1.0]], ["a", "b"]).predict([[1.0]])
    array(['b'], dtype='<U1')
    """

    __slots__ = ()

    def increment(self, slope: float, weight: float, curvature: float) -> Any:
        """Return w p (1 - p), so that s_j sums the curvatures."""
        return curvature

    def initial_sum(self, c2: float) -> Any:
        """Return ε c², or ε for the square root."""
        return self.initial * c2 if self.power == 1.0 else self.initial

    def metric(self, s: float, t: Any) -> Any:
        """Return s_j, or its square root."""
        return s if self.power == 1.0 else np.sqrt(s)

    def gradient_divisor(self, c: float) -> Any:
        """Return 1: a curvature has the right scale; c for the square root."""
        return 1.0 if self.power == 1.0 else c


class _ArowSettings(NamedTuple):
    rate: float = 1.0
    r: float = 1.0
    initial: float = 1.0


class Arow(Rule, _ArowSettings):
    """AROW: adaptive regularisation of weights, on the squared hinge loss.

    With a diagonal covariance Σ = diag(1 / a_j) and ỹ = 2y - 1 (Crammer, Kulesza and Dredze), β_{t+1} is ::

        argmin_β ½ (β - β_t)ᵀ Σ⁻¹ (β - β_t) + (w / 2r) max(0, 1 - ỹ η)²
        = β_t + Σ x ỹ w (1 - ỹ η_t) / (r + w xᵀΣx),   1/Σ_jj ← 1/Σ_jj + w x_j² / r,   if ỹ η_t < 1

    The metric depends on how often a feature occurred, not on how confident the model was.

    Parameters
    ----------
    rate : float, default=1.0
        Step size; with 1, the step is the exact minimum of the problem above.
    r : float, default=1.0
        The larger r, the less a single row changes the model.
    initial : float, default=1.0
        1/Σ_jj before the first row.

    See Also
    --------
    Rule : The interface.
    dropglm.OnlineLogisticRegression : Learns by a rule.

    Examples
    --------
    >>> from dropglm import OnlineLogisticRegression
    >>> from dropglm.core.online import Arow
    >>> model = OnlineLogisticRegression(rule=Arow(r=0.5))
    >>> model.fit([[0.0], [1.0]], ["a", "b"]).predict([[1.0]])
    array(['b'], dtype='<U1')
    """

    __slots__ = ()

    def slope(self, eta: float, y: float, weight: float, variance: float) -> Any:
        """Return the step along x in the metric, -ỹ w (1 - ỹ η) / (r + w xᵀΣx), or 0 beyond the margin."""
        sign = 2.0 * y - 1.0
        loss = 1.0 - sign * eta
        return -sign * weight * loss / (self.r + weight * variance) if loss > 0.0 else 0.0

    def increment(self, slope: float, weight: float, curvature: float) -> Any:
        """Return w / r, or 0 beyond the margin."""
        return weight / self.r if slope != 0.0 else 0.0

    def initial_sum(self, c2: float) -> Any:
        """Return 1/Σ_jj before the first row."""
        return self.initial

    def metric(self, s: float, t: Any) -> Any:
        """Return s_j = 1/Σ_jj."""
        return s

    def updates_metric_after_step(self) -> Any:
        """Return True: the step uses Σ as it was before the row."""
        return True


RULES: dict[str, Any] = {"adagrad": AdaGrad, "arow": Arow, "dropout": DropoutDescent, "sgd": Sgd}


def rule_from(rule: Any, rate: float | None = None, power: float = 1.0) -> Any:
    """Return the rule of that name, or the rule itself, with this rate and power.

    Parameters
    ----------
    rule : str or Rule
        Name of a rule, or a rule.
    rate : float, default=None
        Step size; None means that of the rule.
    power : {1, 0.5}, default=1
        For rules that have it.

    Returns
    -------
    Rule
        The rule with these settings.

    See Also
    --------
    Rule : The interface.

    Examples
    --------
    >>> rule_from("sgd", rate=2)
    Sgd(rate=2.0)
    """
    if power not in (1, 0.5):
        raise InputError(f"power must be 1 or 0.5, got {power!r}.")
    if isinstance(rule, str):
        kind = lookup(RULES, rule, "rule")
        rule = kind(power=float(power)) if "power" in kind._fields else kind()
    elif not (isinstance(rule, Rule) and "rate" in getattr(rule, "_fields", ())):
        raise InputTypeError(
            "rule must be a name or an instance of a class that derives from dropglm.core.online.Rule and "
            f"from a NamedTuple with the field rate, got {rule!r}; known names: {quoted(RULES)}."
        )
    if rate is None:
        rate = rule.rate
    checks.not_negative(rate, "rate")
    return rule._replace(rate=float(rate))
