"""Designs of several blocks of columns.

Only ``Noise`` sums over the blocks in training, since each block has its own noise; here are the operations
that do not depend on noise.
"""

from collections.abc import Collection, Sequence
from typing import Self

import numpy as np

from dropglm.design.design import AddRows, Design, DesignBlock
from dropglm.threads import even_pieces


class BlockDesign:
    """Designs side by side, with the same rows.

    Parameters
    ----------
    designs : sequence of Design
        One per block; all with the same dtype.
    numbers : sequence of int, optional
        Numbers of the blocks among those of the user, if some were left out.

    Examples
    --------
    >>> pair = BlockDesign([Design(np.array([[1.0, 2.0]])), Design(np.array([[3.0]]))])
    >>> pair.shape, pair.dot(np.array([[1.0], [1.0], [2.0]]))
    ((1, 3), array([[9.]]))
    """

    def __init__(self, designs: Sequence[Design], numbers: Sequence[int] | None = None) -> None:
        numbers = range(len(designs)) if numbers is None else numbers
        ends = np.cumsum([design.shape[1] for design in designs])
        self.blocks = tuple(
            DesignBlock(number, slice(int(end) - design.shape[1], int(end)), design)
            for number, design, end in zip(numbers, designs, ends, strict=True)
        )
        self.shape = (designs[0].shape[0], int(ends[-1]))
        self.dtype = designs[0].dtype
        entries = np.stack([design._entries for design in designs])
        self.pieces = even_pieces(entries.sum(axis=0))

    @property
    def threads(self) -> int:
        """Number of threads that the operations use."""
        return self.blocks[0].design.threads

    @threads.setter
    def threads(self, threads: int) -> None:
        for block in self.blocks:
            block.design.threads = threads

    def without(self, numbers: Collection[int]) -> Self:
        """Return the design without the blocks of these numbers; the others keep theirs."""
        kept = [block for block in self.blocks if block.number not in numbers]
        return type(self)([block.design for block in kept], [block.number for block in kept])

    def take(self, rows: np.ndarray) -> Self:
        """Return a design of some of the rows, with the same features."""
        designs = [block.design.take(rows) for block in self.blocks]
        return type(self)(designs, [block.number for block in self.blocks])

    def dot(self, beta: np.ndarray) -> np.ndarray:
        """Return Xβ for coefficients of shape (d, K); shape (n, K), float64."""
        eta = np.zeros((self.shape[0], beta.shape[1]))
        for _, columns, design in self.blocks:
            eta += design.dot(beta[columns])
        return eta

    def transposed_dot(self, r: np.ndarray) -> np.ndarray:
        """Return Xᵀr for r of shape (n, K); shape (d, K), in X's dtype."""
        return np.concatenate([block.design.transposed_dot(r) for block in self.blocks])

    def sum_over_rows(
        self, add: AddRows, *shape: int, pieces: list[tuple[int, int]] | None = None
    ) -> np.ndarray:
        """Return the sum of what ``add`` adds for each piece of the rows, in X's dtype."""
        return self.blocks[0].design.sum_over_rows(add, *shape, pieces=pieces or self.pieces)

    @property
    def smallest(self) -> float:
        """The smallest entry, or 0 if no entry is negative."""
        return min(block.design.smallest for block in self.blocks)


# A feature matrix of one block or of several.
AnyDesign = Design | BlockDesign
