"""Fresh axes, and the colours that all pictures share."""

from collections.abc import Iterable, Mapping
from typing import Any

# Dark enough to be told apart on white, also by those who see few colours (after Okabe and Ito).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#7F6A00", "#56B4E9")
INK = "#222222"


def colours_of(names: Iterable[str], given: Mapping[str, str] | None = None) -> dict[str, str]:
    """A colour for each name: the one that is given, or the next in turn.

    Examples
    --------
    >>> colours_of(["sgd", "arow"], {"arow": "black"})
    {'sgd': '#0072B2', 'arow': 'black'}
    """
    turns = {name: COLOURS[k % len(COLOURS)] for k, name in enumerate(names)}
    return turns | {name: colour for name, colour in (given or {}).items() if name in turns}


def fresh_axes(columns: int = 1) -> Any:
    """New Matplotlib axes side by side, each 5 inches wide: one object, or an array for several columns."""
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ImportError("Drawing needs Matplotlib: pip install 'dropglm[plots]'.") from error
    _, axes = plt.subplots(1, columns, figsize=(5 * columns, 4), layout="constrained")
    return axes
