"""Fits to few rows, each in one compiled call.

This is the L-BFGS of ``solvers``, on the same loops. With some hundred rows an iteration takes half a
millisecond, a third of it in the interpreter, and threads that fit at the same time wait for its lock: a
search with 300 labels took 1.3 s on one thread and 1.5 s on two. Here a fit needs the lock once. It takes
seconds to compile in a new installation, so only searches do it.
"""

from typing import Any

import numpy as np

from dropglm.design.storage import DenseRows, read_only
from dropglm.estimators.small_fit_kernels import (
    CONVERGED,
    FAILED,
    MAX_ITER,
    STALLED,
    Features,
    Memory,
    Model,
    Room,
    descend,
)
from dropglm.maths.shared_loops import even_cuts
from dropglm.maths.vectors import PIECE
from dropglm.objective import Objective
from dropglm.objective.row_term import COMPILED_PIECE, RowTerm
from dropglm.solvers import LBFGS, History, Result, Status

STATUS = {CONVERGED: Status.CONVERGED, MAX_ITER: Status.MAX_ITER, STALLED: Status.STALLED}


def minimize(solver: LBFGS, objective: Objective, start: np.ndarray) -> tuple[np.ndarray, Result]:
    """Return what ``solver.minimize`` returns, in one compiled call if the problem is small enough."""
    features = _features(objective)
    if features is None:
        return solver.minimize(objective, start)
    term, theta = objective.terms[0], start.copy()
    assert isinstance(term, RowTerm)
    model = Model(
        term.y,
        term.w,
        term.pi,
        term.constant,
        term.penalty is not None,
        objective.l2[:, 0].astype(start.dtype, copy=False),
        objective.mean,
        bool(objective.fit_intercept),
    )
    memory = _memory(solver.memory_for(len(start)), start)
    room = _room(len(term.y), features.columns.indptr.size - 1, len(start))
    history = np.full((3, solver.max_iter + 1), np.nan)
    limits = float(solver.tol), int(solver.max_iter), solver.min_iter
    how, n_iter, passes = descend(features, model, memory, room, theta, *limits, history)
    if how == FAILED:
        return solver.minimize(objective, start)  # which says why
    seen = History(*history[:, : n_iter + 1])
    value, norm = float(seen.objective[-1]), float(seen.gradient_norm[-1])
    return theta, Result(STATUS[how], n_iter, passes, value, norm, seen)


def _features(objective: Objective) -> Features | None:
    """Return the features of a small problem: rows of logistic regression, and loops of a single piece.

    One block of sparse features, with a block of dense ones or without, and no noise but dropout.
    """
    term = objective.terms[0]
    if len(objective.terms) > 1 or not isinstance(term, RowTerm) or not term.compiled:
        return None
    blocks = term.block.design.blocks
    sparse = blocks[0].design
    noises = [term.noise.of_block(block.number) for block in blocks]
    cuts = even_cuts(len(term.y), COMPILED_PIECE), even_cuts(len(objective.l2), PIECE)
    if len(blocks) > 2 or any(len(one) > 2 for one in cuts) or any(noise.absolute for noise in noises):
        return None
    if sparse.columns is None or not all(block.design.is_small for block in blocks):
        return None
    dense: Any = DenseRows(read_only(np.empty((sparse.shape[0], 0), sparse.dtype)))
    if len(blocks) == 2:
        dense = blocks[1].design.rows
    if not isinstance(dense, DenseRows):
        return None
    ratios = float(noises[0].relative), float(noises[-1].relative)
    return Features(sparse.rows, sparse.columns, dense, *ratios)


def _memory(m: int, like: np.ndarray) -> Memory:
    """Return room for m pairs of vectors."""
    s, y = (np.empty((m, len(like)), like.dtype) for _ in range(2))
    d, inverse, g, old = np.empty((4, len(like)), like.dtype)
    products, before = np.zeros((2, 1, 2 * m + 1))
    a, e = np.zeros((2, m))
    slots = np.append(np.arange(m), 0)
    sy, yy, new = np.zeros((m, m)), np.zeros((1, m, m)), np.zeros((1, 2))
    return Memory(s, y, d, inverse, g, old, slots, sy, yy, products, before, new, a, e)


def _room(n: int, sparse: int, N: int) -> Room:
    """Return room for the numbers of n rows, given the numbers of sparse features and of unknowns."""
    eta, s2 = np.zeros((2, n))
    ray, end, slopes, sums = np.zeros((3, n)), np.zeros((2, n)), np.zeros((n, 2)), np.zeros((1, 2))
    dense = np.zeros((1, N - 1 - sparse))
    # Of the types that shared loops have, for which they are compiled: even cuts are read-only.
    cuts = even_cuts(n, n), even_cuts(N, N), np.array([0, n]), np.array([0, sparse])
    return Room(eta, s2, ray, end, slopes, sums, dense, *cuts, np.zeros(1, np.int64))
