"""The objective of P problems on the GPU: value and gradient, the function along a ray, and the curvature.

    f(β, b) = Σ_rows f_i(η_i, s²_i) + ½ Σ_j λ_j β_j²,     θ = (β, c) with c = b + x̄·β

as in ``dropglm.objective``, with a column of θ for each problem. The methods only call kernels, so that
they can be recorded; what the host has to know about each problem is in ``report``.
"""

from typing import Any

import numpy as np

from dropglm.cuda import row_loops, vector_loops
from dropglm.cuda.matrix import Group, Pair, Slopes
from dropglm.cuda.problems import Problems, RowSet
from dropglm.cuda.runtime import MAX_BLOCKS, THREADS, array_module, to_host, view
from dropglm.cuda.vector_loops import ALONG, MEMORY, PRODUCTS

# Rows of ``report``: products along the direction, the shift, sums over rows, and products of L-BFGS.
SHIFT = slice(ALONG, ALONG + 3)
BY_ROWS = slice(SHIFT.stop, SHIFT.stop + row_loops.SUMS)
MULTIPLIED = slice(BY_ROWS.stop, BY_ROWS.stop + PRODUCTS)
REPORT = MULTIPLIED.stop


class RowState:
    """The rows of a set: η and s² at a point, along a ray, and at the end of a step."""

    def __init__(self, rows: RowSet, P: int, dtype: np.dtype) -> None:
        xp, n = array_module(), rows.n
        self.n, self.blocks = n, rows.blocks
        self.eta, self.s2, self.eta_end, self.s2_end = (Pair.of(xp.zeros((n, P))) for _ in range(4))
        self.ray = Pair.of(xp.zeros((3, n, P)))
        self.slopes = Slopes(*(Pair.of(xp.zeros((n, P), dtype)) for _ in range(2)))
        tables = rows.y, rows.w, rows.pi
        places = rows.column_of_y, rows.column_of_w, rows.column_of_pi
        self.tables = [view(xp.asarray(table, dtype=np.float64)) for table in tables]
        self.places = [view(xp.asarray(place, dtype=np.int32)) for place in places]
        self.share = view(xp.asarray(rows.share, dtype=np.float64))


class DeviceObjective:
    """The function that the fits of a batch minimise, and the point at which they are.

    Parameters
    ----------
    problems : Problems
    theta : array of the GPU of shape (d + 1, P)
        The start, (β, c).
    """

    def __init__(self, problems: Problems, theta: Any) -> None:
        xp, P, d = array_module(), problems.count, problems.d
        self.problems = problems
        self.d, self.P, self.dtype = d, P, problems.dtype
        self.theta = Pair.of(theta)
        self.direction, self.gradient, self.inverse = (
            Pair.of(xp.zeros((d + 1, P), self.dtype)) for _ in range(3)
        )
        self.states = [RowState(rows, P, self.dtype) for rows in problems.row_sets]
        self.relative = [Pair.of(xp.asarray(row)) for row in problems.relative]
        blocks = [columns for columns, _ in problems.row_sets[0].blocks]
        block_of = np.concatenate([np.full(c.stop - c.start, k, np.uint8) for k, c in enumerate(blocks)])
        self.coefficients = [
            view(xp.asarray(problems.l2)),
            view(xp.asarray(problems.l2_weights)),
            view(xp.asarray(problems.column_of_l2, dtype=np.int32)),
            view(xp.asarray(problems.mean)),
            view(xp.asarray(problems.column_of_mean, dtype=np.int32)),
            view(xp.asarray(problems.absolute)),
            view(xp.asarray(block_of)),
        ]
        self.beta_of, self.direction_of, self.gradient_of, self.inverse_of = (
            [Pair.of(whole.array[columns]) for columns in blocks]
            for whole in (self.theta, self.direction, self.gradient, self.inverse)
        )
        self.steps = Pair.of(xp.zeros(P))
        self.report = xp.zeros((REPORT, P))
        self._along, self._shift, self._by_rows, self.multiplied = (
            view(self.report[rows]) for rows in (slice(0, ALONG), SHIFT, BY_ROWS, MULTIPLIED)
        )
        self.squares = Pair.of(xp.zeros((MEMORY * MEMORY, P)))
        self.sums = view(xp.zeros((len(self.states) * MAX_BLOCKS, max(PRODUCTS, MEMORY * MEMORY), P)))
        matrices = [matrix for rows in problems.row_sets for _, matrix in rows.blocks]
        self.records = all(matrix.calls_kernels_only for matrix in matrices)
        self.kind = str(self.dtype), P % 2, *(matrix.kind for matrix in matrices)

    def start(self, group: Group) -> tuple[np.ndarray, np.ndarray]:
        """Compute the rows' η and s² at θ; return Σ λ β² and b of each problem."""
        xp, problems = array_module(), self.problems
        beta = self.theta.array[: self.d]
        l2_norm = problems.l2 * _by_column(problems.l2_weights, problems.column_of_l2, beta * beta)
        at_mean = _by_column(problems.mean, problems.column_of_mean, beta)
        c = to_host(self.theta.array[self.d]).astype(np.float64)
        intercept = c - at_mean if problems.fit_intercept else np.zeros(self.P)
        absolute = np.zeros(self.P)
        for number, block in enumerate(self.beta_of):
            if problems.absolute[number].any():
                norm = to_host((block.array * block.array).sum(axis=0, dtype=np.float64))
                absolute += problems.absolute[number] * norm
        for state in self.states:
            state.eta.array[:] = xp.asarray(intercept)
            state.s2.array[:] = xp.asarray(absolute)
            for number, (_, matrix) in enumerate(state.blocks):
                matrix.moments(group, self.beta_of[number], state.eta_end, state.s2_end)
                state.eta.array[:] += state.eta_end.array
                state.s2.array[:] += self.relative[number].array * state.s2_end.array
        self.steps.array[:] = 0.0
        return l2_norm, intercept

    def aim(self, group: Group) -> None:
        """Compute what the line searches along the direction need."""
        self._add_blocks(group, self._blocks(self.d + 1, group), ALONG, self._along)
        group.stream.call(
            vector_loops.set_shift,
            (-(-self.P // THREADS),),
            *(group.columns, self._along, self.direction.view, self.problems.fit_intercept, self._shift),
        )
        for state in self.states:
            for number, (_, matrix) in enumerate(state.blocks):
                ends = self.beta_of[number], self.direction_of[number], self.relative[number]
                matrix.ray(group, *ends, state.ray, add=number > 0)

    def evaluate(self, group: Group) -> None:
        """Compute the sums over rows at the steps along the ray; problems with the step NaN keep theirs."""
        problems, first = self.problems, 0
        for state in self.states:
            blocks = self._blocks(state.n, group)
            group.call(
                *(row_loops.evaluate, blocks, problems.family, problems.penalty),
                *(self.steps.view, self._shift, state.eta.view, state.s2.view, state.ray.view),
                *(*state.tables, *state.places, state.share),
                *(state.eta_end.view, state.s2_end.view, state.slopes.r.view, state.slopes.q.view),
                *(first, self.sums),
            )
            first += blocks
        self._add_blocks(group, first, row_loops.SUMS, self._by_rows)

    def move(self, group: Group) -> None:
        """Go to the ends of the steps."""
        self.loop(group, vector_loops.move, self.steps.view, self.direction.view, self.theta.view)

    def differentiate(self, group: Group) -> None:
        """Compute the gradient at the ends of the steps that were evaluated last."""
        for number, state in enumerate(self.states):
            ends = state.eta_end.view, state.s2_end.view, state.eta.view, state.s2.view
            group.call(row_loops.accept, self._blocks(state.n, group), self.steps.view, *ends)
            for block, (_, matrix) in enumerate(state.blocks):
                where = self.beta_of[block], self.relative[block], state.slopes, self.gradient_of[block]
                matrix.backward(group, *where, add=number > 0)
        self.loop(
            *(group, vector_loops.complete_gradient, self._by_rows),
            *(self.problems.fit_intercept, self.theta.view, *self.coefficients, self.gradient.view),
        )

    def precondition(self, group: Group) -> None:
        """Compute ``inverse``, that of the diagonal of the Fisher information plus λ.

        Overwrites the direction and the slopes of rows, which are not needed after a step.
        """
        problems, first = self.problems, 0
        for number, state in enumerate(self.states):
            blocks = self._blocks(state.n, group)
            for block, (_, matrix) in enumerate(state.blocks):
                group.call(
                    *(row_loops.curvatures, blocks, problems.family, state.eta.view),
                    *(*state.tables[1:], *state.places[1:], state.share, self.relative[block].view),
                    *(state.slopes.r.view, state.slopes.q.view, first, self.sums),
                )
                where = state.slopes, self.direction_of[block], self.inverse_of[block]
                matrix.column_sums(group, *where, add=number > 0)
            first += blocks
        self._add_blocks(group, first, 2, self._along)
        self.loop(
            *(group, vector_loops.complete_diagonal, self._along),
            *(problems.fit_intercept, *self.coefficients, self.direction.view),
            *(float(np.finfo(self.dtype).tiny), self.inverse.view),
        )

    def loop(self, group: Group, kernel: Any, *arguments: Any, depth: int = 1) -> None:
        """Call a kernel that loops over all features."""
        grid = self._blocks(self.d + 1, group), group.blocks, depth
        group.stream.call(kernel, grid, group.columns, group.G, *arguments)

    def add_products(self, group: Group, count: int, out: Any) -> None:
        """Add up sums over features that were computed per block."""
        self._add_blocks(group, self._blocks(self.d + 1, group), count, out)

    def _add_blocks(self, group: Group, blocks: int, count: int, out: Any) -> None:
        grid = count, -(-self.P // group.G)
        group.stream.call(vector_loops.add_blocks, grid, group.G, blocks, self.sums, out)

    def _blocks(self, items: int, group: Group) -> int:
        """Return the number of blocks of a loop over rows or features."""
        return min(MAX_BLOCKS, -(-items // (THREADS // group.G)))


def _by_column(table: Any, column_of: np.ndarray, vectors: Any) -> np.ndarray:
    """Return Σ_j table[j, column_of[p]] · vectors[j, p] for each problem p."""
    xp = array_module()
    table, sums = xp.asarray(table), np.zeros(len(column_of))
    for column in np.unique(column_of).tolist():
        members = np.flatnonzero(column_of == column)
        products = table[:, column : column + 1] * vectors[:, members]
        sums[members] = to_host(products.sum(axis=0, dtype=np.float64))
    return sums
