"""The update rules by name, and how the settings of an estimator become a rule."""

from typing import Any

from dropglm.base import checks
from dropglm.base.errors import InputError, InputTypeError
from dropglm.base.registry import lookup, quoted
from dropglm.core.online.adagrad import AdaGrad
from dropglm.core.online.arow import Arow
from dropglm.core.online.dropout_descent import DropoutDescent
from dropglm.core.online.rule import Rule
from dropglm.core.online.sgd import Sgd

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
