"""The race between the candidates of a search whose rows are in partitions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dropglm.estimators.race import allowance, margin_of, stops_with
from dropglm.partitions.held_out import Moments, mean_and_error
from dropglm.partitions.judge import PartitionedHeldOut


class PartitionedRace:
    """The race of ``estimators.race``, with sums over the rows of partitions.

    Parameters
    ----------
    held_out : PartitionedHeldOut
    one_standard_error : bool
        Whether candidates within one standard error of the best are of interest.
    """

    rival: np.ndarray | None = None

    def __init__(self, held_out: PartitionedHeldOut, *, one_standard_error: bool) -> None:
        self.held_out = held_out
        self.one_standard_error = one_standard_error
        self.stops = stops_with(np.cumsum(held_out.rows).tolist())

    def survivors(self, alive: Sequence[int], row_scores: Sequence[Any]) -> list[int]:
        """Return the candidates that may still become the best.

        Parameters
        ----------
        alive : sequence of int
            Numbers of the candidates that were fitted in the last stage.
        row_scores : sequence of Kept or None
            By number of the candidate.
        """
        stop = len(row_scores[alive[0]].hits)
        known = {k: one for k, one in enumerate(row_scores) if one is not None and len(one.hits) >= stop}
        leader = max(known.values(), key=lambda one: float(one.scores[:stop].mean()))
        held_out = self.held_out
        shares = 1.0 / (stop * held_out.weights[:stop])
        requests = [Moments(leader.key, leader.blend, None, shares, held_out.scoring)]
        requests += [
            Moments(known[k].key, known[k].blend, (leader.key, leader.blend), shares, held_out.scoring)
            for k in alive
        ]
        (_, error), *differences = (mean_and_error(sums.numbers) for sums in held_out.rounds.ask(*requests))
        done = stop / len(held_out.rows)
        margin = margin_of(done, error, one_standard_error=self.one_standard_error)
        factor = allowance(done)
        found = zip(alive, differences, strict=True)
        left = [k for k, (mean, error) in found if not mean - margin > factor * error]
        held_out.dropped.update(known[k].key for k in set(alive).difference(left))
        return left
