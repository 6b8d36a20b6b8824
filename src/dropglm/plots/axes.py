"""New axes, line styles and colours, shared by all displays."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dropglm.base.errors import InputError
from dropglm.base.imports import import_extra

# Distinguishable on a white background, also with colour vision deficiency (after Okabe and Ito).
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#7F6A00", "#56B4E9")
INK = "#222222"


def colors_of(names: Iterable[str], given: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return a colour for each name: the given one, or the next of the cycle.

    Examples
    --------
    >>> colors_of(["sgd", "arow"], {"arow": "black"})
    {'sgd': '#0072B2', 'arow': 'black'}
    """
    cycle = {name: COLORS[k % len(COLORS)] for k, name in enumerate(names)}
    return cycle | {name: color for name, color in (given or {}).items() if name in cycle}


def fresh_axes(columns: int = 1) -> Any:
    """Return new Matplotlib axes side by side, 5 inches wide: one Axes, or an array for several columns."""
    plt = import_extra("matplotlib.pyplot", "plots", "Drawing needs")
    _, axes = plt.subplots(1, columns, figsize=(5 * columns, 4), layout="constrained")
    return axes


def panels(ax: Any, count: int) -> np.ndarray:
    """Return an array of the axes that were given, one per panel, or of new ones."""
    axes = np.ravel(np.asarray(fresh_axes(count) if ax is None else ax, dtype=object))
    if len(axes) != count:
        wanted = "a single Axes" if count == 1 else f"an array of {count} axes, one per panel,"
        raise InputError(f"ax must be {wanted} or None; got {len(axes)} axes.")
    return axes


def line_style(kwargs: Mapping[str, Any], **defaults: Any) -> dict[str, Any]:
    """Return the defaults, replaced by the user's keyword arguments, of which ``lw`` is ``linewidth``.

    Examples
    --------
    >>> line_style({"lw": 3}, color="black", linewidth=1)
    {'color': 'black', 'linewidth': 3}
    """
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    return defaults | normalize_kwargs(dict(kwargs), Line2D)
