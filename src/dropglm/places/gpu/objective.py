"""The objective of P problems on the GPU: value and gradient, the function along a ray, and the curvature.

    f(β, b) = Σ_rows f_i(η_i, s²_i) + ½ Σ_j λ_j β_j²,     θ = (β, c) with c = b + x̄·β

as in ``dropglm.core.objective``, with a column of θ for each problem. The methods only call kernels, so that
they can be recorded. ``Problems`` has what distinguishes the problems of a batch: labels, weights, noise and
l2; and the rows that they share.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dropglm.places.gpu import lbfgs_loops, row_loops
from dropglm.places.gpu.design import Copies
from dropglm.places.gpu.lbfgs_loops import ALONG, MEMORY, PRODUCTS
from dropglm.places.gpu.matrix import Centre, DeviceMatrix, Ray, Slopes
from dropglm.places.gpu.runtime import MAX_BLOCKS, THREADS, GpuArray, Group, array_module, view


@dataclass(frozen=True)
class RowSet:
    """Rows with or without labels: blocks of features, and columns of labels and weights.

    Attributes
    ----------
    blocks : sequence of (slice, DeviceMatrix)
        The matrices side by side, and their places among the coefficients.
    y, w, pi : ndarray of shape (n, ...)
        Columns of labels, of weights in the loss and of weights in the penalty.
    places : ndarray of shape (3, P)
        The columns of y, w and π of each problem.
    share : ndarray of shape (P,)
        The factor of π.
    penalty : int
        The number of the penalty in kernels; 0 if there is none, or copies.
    copies : Copies, optional
        For a penalty by Monte Carlo.
    """

    blocks: Sequence[tuple[slice, DeviceMatrix]]
    y: np.ndarray
    w: np.ndarray
    pi: np.ndarray
    places: np.ndarray
    share: np.ndarray
    penalty: int
    copies: Copies | None = None


@dataclass(frozen=True)
class Problems:
    """P problems that share rows and a family.

    A multinomial model of K classes counts as K neighbouring problems, which move together.

    Attributes
    ----------
    row_sets : sequence of RowSet
    family : int
        Its number in kernels; it does not matter if there are several classes.
    classes : int
        K of multinomial models; 1 for other families.
    constant : ndarray of shape (P,)
        Σ w A*(y), which makes the loss of a perfect fit 0.
    relative, absolute : ndarray of shape (B, P)
        The noise of each block.
    l2 : ndarray of shape (P,)
        λ.
    l2_weights : array of the GPU or ndarray of shape (d, W)
        Columns of weights of λ.
    mean : array of the GPU or ndarray of shape (d, M)
        Columns of mean rows.
    places : ndarray of shape (2, P)
        The columns of l2 weights and of the mean row of each problem.
    fit_intercept : bool
    dtype : dtype
        Of the coefficients.
    """

    row_sets: Sequence[RowSet]
    family: int
    classes: int
    constant: np.ndarray
    relative: np.ndarray
    absolute: np.ndarray
    l2: np.ndarray
    l2_weights: Any
    mean: Any
    places: np.ndarray
    fit_intercept: bool
    dtype: np.dtype

    @property
    def count(self) -> int:
        """P."""
        return len(self.l2)

    @property
    def d(self) -> int:
        """Number of features."""
        return self.l2_weights.shape[0]


class Moments:
    """Rows, or noised copies of them: η and s² at a point, along a ray, and at the end of a step.

    ``moments`` is 2, or 1 for copies, which have no s².
    """

    def __init__(self, blocks: Sequence[tuple[slice, DeviceMatrix]], moments: int, P: int, dtype: np.dtype):
        xp, n = array_module(), blocks[0][1].shape[0]
        self.n, self.blocks = n, blocks
        self.here, self.end = (GpuArray(xp.zeros((moments, n, P))) for _ in range(2))
        self.ray = GpuArray(xp.zeros((3, n, P)))
        r = GpuArray(xp.zeros((n, P), dtype))
        self.slopes = Slopes(r, GpuArray(xp.zeros((n, P), dtype)) if moments == 2 else r)


class RowSetMoments(Moments):
    """The rows of a set, with their labels and weights."""

    def __init__(self, rows: RowSet, P: int, dtype: np.dtype) -> None:
        xp = array_module()
        super().__init__(rows.blocks, 2, P, dtype)
        self.penalty = rows.penalty
        self.tables = [view(xp.asarray(table, dtype=np.float64)) for table in (rows.y, rows.w, rows.pi)]
        self.places = view(xp.asarray(rows.places, dtype=np.int32))
        self.share = view(xp.asarray(rows.share, dtype=np.float64))
        self.n_samples, self.copies = 0, None
        if rows.copies is not None:
            self.n_samples, self.copies = rows.copies.n_samples, Moments(rows.copies.blocks, 1, P, dtype)

    @property
    def parts(self) -> list[Moments]:
        """The rows, and their copies if there are any."""
        return [self] if self.copies is None else [self, self.copies]


class DeviceObjective:
    """The function that the fits of a batch minimise, and the point at which they are.

    Parameters
    ----------
    problems : Problems
    theta : array of the GPU of shape (d + 1, P)
        (β, c).
    """

    def __init__(self, problems: Problems, theta: Any) -> None:
        xp, P, d = array_module(), problems.count, problems.d
        self.problems = problems
        self.d, self.P, self.dtype = d, P, problems.dtype
        self.theta = GpuArray(theta)
        self.direction, self.by_features, self.inverse = (
            GpuArray(xp.zeros((d + 1, P), self.dtype)) for _ in range(3)
        )
        self.states = [RowSetMoments(rows, P, self.dtype) for rows in problems.row_sets]
        self.relative = [GpuArray(xp.asarray(row)) for row in problems.relative]
        self.twice = [GpuArray(xp.asarray(2.0 * row, dtype=self.dtype)) for row in problems.relative]
        blocks = [columns for columns, _ in problems.row_sets[0].blocks]
        block_of = xp.zeros(d, np.uint16)
        for number, columns in enumerate(blocks):
            block_of[columns] = number
        self.coefficients = [
            view(xp.asarray(problems.l2)),
            view(xp.asarray(problems.l2_weights)),
            view(xp.asarray(problems.mean)),
            view(xp.asarray(problems.places, dtype=np.int32)),
            view(xp.asarray(problems.absolute)),
            view(block_of),
        ]
        self.beta_of, self.direction_of, self.by_features_of = (
            [GpuArray(whole.array[columns]) for columns in blocks]
            for whole in (self.theta, self.direction, self.by_features)
        )
        # θ and the direction of one problem alone, as words.
        alone = P == 1 and self.dtype == np.float32
        self.ends = GpuArray(xp.zeros(d + 1 if alone else 0, np.uint64))
        self.ends_of = [
            Ray(beta, direction, GpuArray(self.ends.array[columns]) if alone else None)
            for beta, direction, columns in zip(self.beta_of, self.direction_of, blocks, strict=True)
        ]
        self.intercepts = view(self.direction.array[d])
        self.constant = view(xp.asarray(problems.constant))
        # Steps along the direction to be tried, NaN for none; and those that are taken, 0 for none.
        self.steps, self.taken = (GpuArray(xp.zeros(P)) for _ in range(2))
        along = xp.zeros((ALONG, P))
        self.along, self.by_rows = view(along), view(xp.zeros((row_loops.SUMS, P)))
        mean, place = xp.asarray(problems.mean), GpuArray(xp.asarray(problems.places[1], np.int32))
        self.centre_of = [Centre(GpuArray(mean[columns]), place, GpuArray(along[0])) for columns in blocks]
        parts = [part for state in self.states for part in state.parts]
        self.sums = view(xp.zeros((len(parts) * MAX_BLOCKS, max(PRODUCTS, MEMORY * MEMORY), P)))
        self.no_factor = GpuArray(xp.zeros(P, self.dtype))
        matrices = [matrix for part in parts for _, matrix in part.blocks]
        self.records = all(matrix.calls_kernels_only for matrix in matrices)
        has_copies = len(parts) > len(self.states)
        kinds = (matrix.kind for matrix in matrices)
        self.kind = str(self.dtype), P % 2, problems.classes > 1, has_copies, *kinds

    def aim(self, group: Group) -> None:
        """Compute what the line searches along the direction need, after ``lbfgs_loops.combine``."""
        self.add_blocks(group, self.loops(self.d + 1, group), ALONG, self.along, joint=2)
        for part in [part for state in self.states for part in state.parts]:
            for number, (_, matrix) in enumerate(part.blocks):
                matrix.ray(group, self.ends_of[number], self.relative[number], part.ray, add=number > 0)

    def evaluate(self, group: Group) -> None:
        """Compute the sums over rows at the steps along the ray; problems with the step NaN keep theirs."""
        first = 0
        for state in self.states:
            blocks = self.loops(state.n, group)
            self._evaluate_rows(group, state, blocks, first)
            first += blocks
            if state.copies is not None:
                self._evaluate_copies(group, state, state.copies, blocks, first)
                first += blocks
        self.add_blocks(group, first, row_loops.SUMS, self.by_rows, joint=2)

    def _evaluate_rows(self, group: Group, state: RowSetMoments, blocks: int, first: int) -> None:
        kind = self.problems.family, self.problems.classes, state.penalty
        line = *self._line, state.here.view, state.ray.view
        self._advance(group, state, blocks)
        labels = *state.tables, state.places, state.share
        out = state.end.view, state.slopes.r.view, state.slopes.q.view, first, self.sums
        group.call(row_loops.evaluate, blocks, *kind, *line, *labels, *out)

    def _evaluate_copies(
        self, group: Group, state: RowSetMoments, copies: Moments, blocks: int, first: int
    ) -> None:
        """Add the penalty by Monte Carlo, after the loss of the rows."""
        kind = self.problems.family, self.problems.classes, state.n_samples
        line = *self._line, state.ray.view, copies.here.view, copies.ray.view
        self._advance(group, copies, self.loops(copies.n, group))
        weights = state.tables[2], state.places, state.share
        ends = state.end.view, copies.end.view
        out = state.slopes.r.view, copies.slopes.r.view, first, self.sums
        group.call(row_loops.evaluate_copies, blocks, *kind, *line, *weights, *ends, *out)

    def _advance(self, group: Group, part: Moments, blocks: int) -> None:
        if self.problems.classes > 1:
            ends = part.here.view, part.ray.view, part.end.view
            group.call(row_loops.advance, blocks, *self._line, *ends)

    @property
    def _line(self) -> tuple[Any, Any, Any]:
        return self.steps.view, self.along, self.intercepts

    def move(self, group: Group) -> None:
        """Go to the ends of the steps that are taken, and compute the derivatives of the rows there."""
        blocks = self.loops(self.d + 1, group)
        group.call(lbfgs_loops.move, blocks, self.taken.view, self.direction.flat(1), self.theta.flat(1))
        for number, state in enumerate(self.states):
            for part in state.parts:
                ends = part.end.view, part.here.view
                group.call(row_loops.accept, self.loops(part.n, group), self.taken.view, *ends)
                for block, (_, matrix) in enumerate(part.blocks):
                    twice = self.twice[block] if part is state else self.no_factor
                    where = self.beta_of[block], twice, part.slopes, self.by_features_of[block]
                    matrix.backward(group, *where, add=number > 0 or part is not state)

    def precondition(self, group: Group) -> None:
        """Compute ``inverse``, that of the diagonal of the Fisher information plus λ.

        Noised copies do not count: as on the CPU, it is that of the rows, to second order in the noise.
        Overwrites the derivatives by features and the slopes of rows, which are not needed after a step. The
        sums of curvatures take the place of those along the direction, for all problems.
        """
        problems, first = self.problems, 0
        for state in self.states:
            blocks = self.loops(state.n, group)
            group.call(
                *(row_loops.curvatures, blocks, problems.family, problems.classes, state.here.view),
                *(*state.tables[1:], state.places, state.share),
                *(state.slopes.r.view, state.slopes.q.view, first, self.sums),
            )
            first += blocks
        self.add_blocks(group, first, 2, self.along)
        for number, state in enumerate(self.states):
            for block, (_, matrix) in enumerate(state.blocks):
                where = self.centre_of[block], self.relative[block], state.slopes, self.by_features_of[block]
                # Rows of further sets have no labels, and so no share in the loss.
                matrix.spread(group, *where, add=number > 0)
        group.call(
            *(lbfgs_loops.complete_diagonal, self.loops(self.d + 1, group), self.along),
            *(problems.fit_intercept, *self.coefficients, self.by_features.flat(1)),
            *(float(np.finfo(self.dtype).tiny), self.inverse.flat(1)),
        )

    def add_blocks(self, group: Group, blocks: int, count: int, out: Any, joint: int = 0) -> None:
        """Add up sums over rows or features that were computed per block, for all problems.

        The first ``joint`` of them are summed over the classes of a model as well.
        """
        grid = count, -(-self.P // (1 << group.g))
        group.stream.call(lbfgs_loops.add_blocks, grid, group.g, blocks, self.sums, out)
        classes = self.problems.classes
        if classes > 1 and joint:
            models = -(-self.P // (classes * THREADS))
            group.stream.call(lbfgs_loops.sum_over_classes, (joint, models), classes, out)

    def loops(self, items: int, group: Group) -> int:
        """Return the number of blocks of a loop over rows or features."""
        return min(-(-MAX_BLOCKS // group.blocks), -(-items // (THREADS >> group.g)))
