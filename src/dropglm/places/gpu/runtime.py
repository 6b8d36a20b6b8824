"""The GPU, or Numba's simulation of one: its arrays, and how kernels are compiled and called."""

import pickle
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from importlib.metadata import version
from typing import Any, ClassVar, Self

import numpy as np
from numba import config
from numba.core.serialize import dumps

from dropglm.base.errors import InputError, TooLargeError
from dropglm.base.imports import import_extra
from dropglm.core.maths.kernel_files import KernelFiles, current_conditions

SIMULATED = bool(config.ENABLE_CUDASIM)
if SIMULATED:
    # Threads of a simulated block wait for each other in turns, of 5 ms each by default.
    sys.setswitchinterval(1e-5)

# Threads of a block, 2^BITS. A simulated thread is a thread of Python, so few are enough.
BITS = 2 if SIMULATED else 8
THREADS = 1 << BITS
# log₂ of the numbers of each thread that are summed over a block at a time.
SUMMED_BITS = 1 if SIMULATED else 3
# Blocks of a loop in which every thread takes several items: enough to occupy any GPU, but few, since their
# sums have to be added up.
MAX_BLOCKS = 2 if SIMULATED else 512


@cache
def numba_cuda() -> Any:
    """Return Numba's module of kernels, or raise an error that says what is missing."""
    import_extra("numba_cuda", "cuda", 'device="cuda" needs', "device")
    from numba import cuda

    if not cuda.is_available():
        raise InputError(
            'device="cuda" needs an NVIDIA GPU and its driver, and none was found; use device="cpu".',
            "device",
        )
    # It warns of loops over few rows, which are short anyway.
    config.CUDA_LOW_OCCUPANCY_WARNINGS = 0
    return cuda


@cache
def array_module() -> Any:
    """Return CuPy, or NumPy if the GPU is simulated."""
    numba_cuda()
    return np if SIMULATED else import_extra("cupy", "cuda", 'device="cuda" needs', "device")


class Reports:
    """Copies of a small array for the host, each as it was after the kernels called before ``send``.

    Parameters
    ----------
    array : array of the GPU
    """

    def __init__(self, array: Any) -> None:
        self._array = array
        self._sent: deque[tuple[np.ndarray, Any]] = deque()

    def __len__(self) -> int:
        """Return the number of copies that were sent and not received."""
        return len(self._sent)

    def send(self) -> None:
        """Copy the array after the kernels that were called; the host does not wait."""
        if SIMULATED:
            self._sent.append((self._array.copy(), None))
            return
        cuda, array = array_module().cuda, self._array
        memory = cuda.alloc_pinned_memory(array.nbytes)
        copy = np.frombuffer(memory, array.dtype, array.size).reshape(array.shape)
        array.get(out=copy, blocking=False)
        self._sent.append((copy, cuda.get_current_stream().record()))

    def receive(self) -> np.ndarray:
        """Wait for the oldest copy, and return it."""
        copy, event = self._sent.popleft()
        if event is not None:
            event.synchronize()
        return copy


def view(array: Any) -> Any:
    """Return the form of an array that kernels take.

    Kernels accept arrays of CuPy as well, but find out their type and address anew in each call, which takes
    longer than most kernels.
    """
    if SIMULATED:
        return array
    return numba_cuda().as_cuda_array(array, sync=False)


def free_memory() -> int:
    """Return the bytes that can still be allocated."""
    if SIMULATED:
        return 1 << 30
    xp = array_module()
    free, _ = xp.cuda.runtime.memGetInfo()
    pool = xp.get_default_memory_pool()
    return int(free + pool.total_bytes() - pool.used_bytes())


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """Allocate arrays in the GPU's memory; if so many bytes do not fit, in memory that the driver manages.

    Such arrays may be larger than the GPU's memory: their pages come from the host's when kernels read them.
    """
    if SIMULATED or size < free_memory():
        yield
        return
    cuda = array_module().cuda
    with cuda.using_allocator(cuda.malloc_managed):
        yield


@contextmanager
def out_of_memory(what: str, size: int) -> Iterator[None]:
    """Say how much memory is needed and what to do if the GPU does not have it."""
    failure = MemoryError if SIMULATED else array_module().cuda.memory.OutOfMemoryError
    try:
        yield
    except failure:
        raise TooLargeError(
            f"{what} needs about {size / 2**30:.1f} GiB of the GPU's memory besides its rows, of which "
            f'{free_memory() / 2**30:.1f} GiB are free; use float32, fewer features, or device="cpu".',
            "device",
        ) from None


class GpuKernelFiles(KernelFiles):
    """The compiled forms of one kernel of the GPU, with its machine code for the GPU at hand."""

    @property
    def conditions(self) -> dict[str, str]:
        """What kernels are compiled with in this process: versions, and the kind of GPU."""
        return _gpu_conditions()

    def to_bytes(self, kernel: Any) -> bytes:
        """Return a compiled kernel as bytes."""
        return dumps(kernel._reduce_states())

    def from_bytes(self, code: bytes, target_context: Any) -> Any:
        """Return the kernel that was stored."""
        from numba.cuda.dispatcher import _Kernel

        return _Kernel._rebuild(**pickle.loads(code))


@cache
def _gpu_conditions() -> dict[str, str]:
    major, minor = numba_cuda().get_current_device().compute_capability
    target = {"numba-cuda": version("numba-cuda"), "processor": f"sm_{major}{minor}"}
    return current_conditions() | target


def kernel(function: Callable) -> Any:
    """Load a loop for the GPU from disk when it is first called, or compile it and write it there."""
    compiled = numba_cuda().jit(function)
    if not SIMULATED:
        compiled._cache = GpuKernelFiles(f"{function.__module__}.{function.__name__}", function.__module__)
    return compiled


_own = threading.local()


def _streams_of_thread() -> tuple[Any, Any]:
    """Return this thread's stream, as an object of CuPy and of Numba."""
    if not hasattr(_own, "streams"):
        stream = array_module().cuda.Stream(non_blocking=True)
        _own.streams = stream, numba_cuda().external_stream(stream.ptr)
    return _own.streams


class Stream:
    """The order in which kernels run; a series of them can be recorded and played again.

    To call a kernel takes Numba about 0.1 ms, far longer than most kernels run; to play a recorded series
    takes some 10 µs.
    """

    # Series that were called before in this process, so that their kernels are compiled and loaded.
    _known: ClassVar[set[tuple[Any, ...]]] = set()

    def __init__(self) -> None:
        self._recorded: dict[str, Any] = {}
        if not SIMULATED:
            self._cupy, self._numba = _streams_of_thread()

    def __enter__(self) -> Self:
        if not SIMULATED:
            # The host does not wait: kernels follow what was called before, and the rest follows them.
            self._outer = array_module().cuda.get_current_stream()
            self._cupy.wait_event(self._outer.record())
            self._cupy.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        if not SIMULATED:
            if error[0] is not None:
                self._cupy.synchronize()  # kernels may still use what is about to be freed
            self._cupy.__exit__(*error)
            self._outer.wait_event(self._cupy.record())

    def call(self, loop: Any, grid: tuple[int, ...], *arguments: Any) -> None:
        """Call a kernel with this many blocks."""
        if SIMULATED:
            loop[grid, THREADS](*arguments)
        else:
            loop[grid, THREADS, self._numba](*arguments)

    def play(self, name: str, kind: tuple[Any, ...], work: Callable[[], None]) -> None:
        """Call work, which calls kernels only: the first time as it is, later from a recording.

        ``kind`` describes the types of the kernels' arguments.
        """
        if SIMULATED or (name, *kind) not in self._known:
            work()  # compiles what is new, which cannot be recorded
            self._known.add((name, *kind))
            return
        if name not in self._recorded:
            self._cupy.begin_capture()
            try:
                work()
            finally:
                self._recorded[name] = self._cupy.end_capture()
        self._recorded[name].launch(self._cupy)

    def forget(self) -> None:
        """Forget all recordings, since kernels will be called with other arguments."""
        self._recorded.clear()


class GpuArray:
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
        if SIMULATED:
            self._columns[:] = columns
        else:
            self._columns.set(columns)
        if self.by_two is not None:
            self.by_two.choose(np.unique(numbers // 2))

    def call(self, loop: Any, blocks: int, *arguments: Any, depth: int = 1) -> None:
        """Call a kernel for all problems of the group, with this many blocks for rows or features."""
        self.stream.call(loop, (blocks, self.blocks, depth), self.columns, self.g, *arguments)

    def decide(self, loop: Any, *arguments: Any, per_block: int = THREADS) -> None:
        """Call a kernel in which one thread, or one block, has one problem."""
        self.stream.call(loop, (-(-self.capacity // per_block),), self.columns, *arguments)


def divided(problems: int) -> int:
    """Return log₂ of how many neighbouring threads of a block work on neighbouring problems, up to 32.

    Examples
    --------
    >>> divided(1), divided(2)
    (0, 1)
    """
    return min((problems - 1).bit_length(), BITS - SUMMED_BITS)
