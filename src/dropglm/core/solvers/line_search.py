"""A step along a ray that satisfies the Wolfe conditions.

    φ(step) <= φ(0) + c₁ step φ'(0)      (it descends)        |φ'(step)| <= c₂ |φ'(0)|      (far enough)

``low`` is the longest step known to descend but to be too short, ``high`` the shortest known to be too long.
"""

import math
from typing import NamedTuple

from dropglm.core.maths.compile import also_compiled
from dropglm.core.solvers.base import Ray

DESCENT = 1e-4  # c₁
CURVATURE = 0.5  # c₂, where trials of further steps cost little
MAX_TRIALS = 40
MAX_GROWTH = 10.0
# Relative differences of the value that rounding can cause.
ROUNDING = 1e-14


class Trial(NamedTuple):
    """A step with its value and slope."""

    step: float
    value: float
    slope: float


def search(
    ray: Ray, value: float, slope: float, step: float = 1.0, curvature: float = CURVATURE
) -> float | None:
    """Return a step, trying the given one first, or None if no step descends; ``curvature`` is c₂."""
    start = low = Trial(0.0, value, slope)
    high = Trial(math.inf, value, slope)  # none yet
    if not slope < 0.0:
        return None
    for _ in range(MAX_TRIALS):
        trial = Trial(step, *ray.value_and_slope(step))
        found, low, high, step = narrow(start, low, high, trial, curvature)
        if found:
            return step
    return low.step if low.value < value else None


@also_compiled
def narrow(
    start: Trial, low: Trial, high: Trial, trial: Trial, curvature: float
) -> tuple[bool, Trial, Trial, float]:
    """Return whether the trial satisfies the conditions, the new low and high, and the step or the next one.

    A ``high`` of infinite length means that none is known.
    """
    bound = start.value + DESCENT * trial.step * start.slope + ROUNDING * abs(start.value)
    if not (trial.value <= bound and math.isfinite(trial.slope)):
        high = trial
    elif abs(trial.slope) <= curvature * abs(start.slope):
        return True, low, high, trial.step
    elif trial.slope > 0.0:
        high = trial
    else:
        low = trial
    return False, low, high, _beyond(start, low) if math.isinf(high.step) else _between(low, high)


@also_compiled
def _beyond(start: Trial, low: Trial) -> float:
    """Return a longer step, where the slope would vanish if it kept changing at its mean rate."""
    bend = (low.slope - start.slope) / low.step
    guess = low.step - low.slope / bend if bend > 0.0 else math.inf
    return min(max(guess, 2.0 * low.step), MAX_GROWTH * low.step)


@also_compiled
def _between(low: Trial, high: Trial) -> float:
    """Return the minimum of the cubic through both ends, kept away from the ends."""
    width = high.step - low.step
    if not (math.isfinite(high.value) and math.isfinite(high.slope)):
        return low.step + 0.1 * width
    chord = 3.0 * (low.value - high.value) / width + low.slope + high.slope
    root = math.sqrt(max(chord * chord - low.slope * high.slope, 0.0))
    bottom = high.slope - low.slope + 2.0 * root
    guess = 1.0 - (high.slope + root - chord) / bottom if bottom != 0.0 else 0.5
    # The cubic overflows next to an extremely steep wall; stay close to the lower end.
    return low.step + width * (min(max(guess, 0.05), 0.95) if math.isfinite(guess) else 0.1)
