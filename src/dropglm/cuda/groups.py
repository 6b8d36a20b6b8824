"""Arrays in the forms that kernels take, and the problems that a call of a kernel is for."""

from functools import cached_property
from typing import Any

import numpy as np

from dropglm.cuda.runtime import THREADS, Stream, array_module, divided, to_device, view


class DeviceArray:
    """An array of CuPy, and the same memory in the forms that kernels take.

    Parameters
    ----------
    array : array of the GPU
    """

    def __init__(self, array: Any) -> None:
        self.array = array

    @cached_property
    def view(self) -> Any:
        """The array."""
        return view(self.array)

    def flat(self, width: int) -> Any:
        """Return all numbers in a row; with a width of 2, two neighbours of 32 bits as one word."""
        return self._words if width == 2 else self._flat

    @cached_property
    def _flat(self) -> Any:
        return view(self.array.reshape(-1))

    @cached_property
    def _words(self) -> Any:
        return view(self.array.reshape(-1).view(np.uint64))


class Group:
    """Some of the problems, and how the threads of a block are divided.

    Parameters
    ----------
    P : int
        The number of all problems.
    stream : Stream
    capacity : int, optional
        The largest number of problems in the group; P by default. The grids of kernels are made for it.
    pairs : bool
        Whether there is a group of pairs of problems as well, if P is even.

    Attributes
    ----------
    numbers : ndarray of int
        The problems, at first all of them.
    """

    def __init__(self, P: int, stream: Stream, capacity: int | None = None, *, pairs: bool = True) -> None:
        self.stream = stream
        self.capacity = P if capacity is None else capacity
        # 2^g neighbouring threads work on neighbouring problems.
        self.g = divided(self.capacity)
        self.blocks = -(-self.capacity // (1 << self.g))
        # Whole blocks of threads, for kernels in which one thread has one problem.
        size = max(self.blocks << self.g, -(-self.capacity // THREADS) * THREADS)
        self._columns = array_module().full(size, -1, np.int32)
        self.columns = view(self._columns)
        self.by_two: Group | None = None
        if pairs and P % 2 == 0:
            self.by_two = Group(P // 2, stream, min(P // 2, self.capacity), pairs=False)
        self.numbers = np.empty(0, np.int64)
        if self.capacity == P:
            self.choose(np.arange(P))

    def choose(self, numbers: np.ndarray) -> None:
        """Let these problems be the group."""
        if np.array_equal(numbers, self.numbers):
            return
        self.numbers = numbers
        columns = np.full(len(self._columns), -1, np.int32)
        columns[: len(numbers)] = numbers
        to_device(columns, self._columns)
        if self.by_two is not None:
            self.by_two.choose(np.unique(numbers // 2))

    def call(self, loop: Any, blocks: int, *arguments: Any, depth: int = 1) -> None:
        """Call a kernel for all problems of the group, with this many blocks for rows or features."""
        self.stream.call(loop, (blocks, self.blocks, depth), self.columns, self.g, *arguments)

    def decide(self, loop: Any, *arguments: Any, per_block: int = THREADS) -> None:
        """Call a kernel in which one thread, or one block, has one problem."""
        self.stream.call(loop, (-(-self.capacity // per_block),), self.columns, *arguments)
