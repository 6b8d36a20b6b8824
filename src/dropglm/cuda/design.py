"""Feature matrices on the GPU, as far as code that works with arrays of NumPy uses them.

The same operations as ``dropglm.design.Design``: numbers of rows come from the host and go back to it,
numbers of features stay on the GPU. Fits do not use them; what happens once per fit, fold or class does.
"""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from dropglm.cuda.groups import DeviceArray, Group
from dropglm.cuda.matrix import DeviceMatrix, Slopes
from dropglm.cuda.runtime import Stream, array_module, to_host
from dropglm.design import AnyDesign, BlockDesign, Design


class DeviceBlock(NamedTuple):
    """A block of columns: its number among the blocks, its columns, and a design of them."""

    number: int
    columns: slice
    design: "DeviceDesign"


class DeviceDesign:
    """Matrices on the GPU side by side, with the same rows.

    Parameters
    ----------
    matrices : sequence of DeviceMatrix
    numbers : sequence of int, optional
        Numbers of the blocks among those of the user, if some were left out.
    threads : int
        Number of threads for what is done on the host.
    """

    rows = None  # never on the host

    def __init__(
        self, matrices: Sequence[DeviceMatrix], numbers: Sequence[int] | None = None, threads: int = 1
    ) -> None:
        self.threads = threads
        self.matrices = list(matrices)
        self.numbers = list(range(len(matrices)) if numbers is None else numbers)
        ends = np.cumsum([matrix.shape[1] for matrix in matrices]).tolist()
        self.places = [slice(end - matrix.shape[1], end) for matrix, end in zip(matrices, ends, strict=True)]
        self.shape = (matrices[0].shape[0], ends[-1])
        self.dtype = matrices[0].dtype

    @property
    def blocks(self) -> tuple[DeviceBlock, ...]:
        """The blocks."""
        designs = [self]
        if len(self.matrices) > 1:
            designs = [DeviceDesign([one], threads=self.threads) for one in self.matrices]
        return tuple(map(DeviceBlock, self.numbers, self.places, designs))

    @property
    def smallest(self) -> float:
        """The smallest entry, or 0 if no entry is negative."""
        entries = [matrix.entries for matrix in self.matrices]
        return min([0.0, *(float(values.min()) for values in entries if values.size)])

    def without(self, numbers: Collection[int]) -> Self:
        """Return the design without the blocks of these numbers; the others keep theirs."""
        kept = [place for place, number in enumerate(self.numbers) if number not in numbers]
        return type(self)([self.matrices[k] for k in kept], [self.numbers[k] for k in kept], self.threads)

    def take(self, rows: np.ndarray) -> Self:
        """Return a design of some of the rows, with the same features."""
        chosen = array_module().asarray(rows)
        return type(self)([matrix.take(chosen) for matrix in self.matrices], self.numbers, self.threads)

    def on_host(self) -> AnyDesign:
        """Return the design in the host's memory."""
        designs = [Design(matrix.on_host(), threads=self.threads) for matrix in self.matrices]
        return BlockDesign(designs, self.numbers)

    def dot(self, beta: Any) -> np.ndarray:
        """Return Xβ for coefficients of shape (d, K), of the host or of the GPU; shape (n, K), float64."""
        xp, K = array_module(), beta.shape[1]
        total = np.zeros((self.shape[0], K))
        with Stream() as stream:
            group = Group(K, stream)
            for place, matrix in zip(self.places, self.matrices, strict=True):
                part = xp.ascontiguousarray(xp.asarray(beta[place], dtype=self.dtype))
                eta, t = (DeviceArray(xp.zeros((self.shape[0], K))) for _ in range(2))
                matrix.moments(group, DeviceArray(part), eta, t)
                total += to_host(eta.array)
        return total

    def transposed_dot(self, r: np.ndarray) -> Any:
        """Return Xᵀr for r of shape (n, K); an array of the GPU of shape (d, K), in X's dtype."""
        xp, K = array_module(), r.shape[1]
        with Stream() as stream:
            group = Group(K, stream)
            slopes = DeviceArray(xp.asarray(np.ascontiguousarray(r, self.dtype)))
            sums, no_factor = xp.zeros((self.shape[1], K), self.dtype), DeviceArray(xp.zeros(K, self.dtype))
            for place, matrix in zip(self.places, self.matrices, strict=True):
                part = DeviceArray(sums[place])
                matrix.backward(group, part, no_factor, Slopes(slopes, slopes), part, add=False)
        return sums
