"""The rows of a fit on a GPU, and where a fit runs."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dropglm import checks, cuda
from dropglm.blocks import Blocks
from dropglm.errors import InputError
from dropglm.estimators.features import Features, FeaturesOfRows, Item, Result
from dropglm.gpu_arrays import is_on_gpu, to_host
from dropglm.registry import lookup

# Whether a fit runs on a GPU; None means that it depends on where X is.
DEVICES = {"cpu": False, "cuda": True}


def check_device(device: str) -> None:
    """Raise an error unless fits can run on this device."""
    if lookup(DEVICES, device, "device"):
        cuda.runtime.array_module()


def features_of(estimator: Any, X: Any, X_unlabeled: Any) -> Any:
    """Return the rows of a fit, in memory or on a GPU, as the estimator's ``device`` says."""
    device, threads = getattr(estimator, "device", None), checks.threads(estimator.n_jobs)
    on_gpu = is_on_gpu(X) if device is None else lookup(DEVICES, device, "device")
    if not on_gpu:
        if is_on_gpu(X):
            raise InputError('X is on a GPU, but device="cpu"; use device=None, or pass X.get().')
        if is_on_gpu(X_unlabeled):
            raise InputError(
                'X_unlabeled is on a GPU, but X is not; use device="cuda", or pass X_unlabeled.get().'
            )
        return Features(X, X_unlabeled, threads)
    return DeviceFeatures(X, X_unlabeled, threads)


class DeviceFeatures(FeaturesOfRows):
    """Labelled and unlabelled rows on a GPU, over the features that occur.

    Parameters
    ----------
    X : ndarray, scipy sparse or Blocks of shape (n, d), or a matrix of CuPy
    X_unlabeled : of shape (m, d), optional
    threads : int
        Number of threads for what is done on the host.

    Attributes
    ----------
    labeled, unlabeled : DeviceDesign, None without unlabelled rows
    """

    solves_together = True

    def __init__(self, X: Any, X_unlabeled: Any = None, threads: int = 1) -> None:
        given = [part for part in (X, X_unlabeled) if part is not None]
        in_blocks = isinstance(X, Blocks)
        widths = X.widths if in_blocks else (X.shape[1],)
        dtype = np.dtype(X.dtype)
        orders, matrices = [], []
        for number in range(len(widths)):
            parts = [part.blocks[number] if in_blocks else part for part in given]
            order, uploaded = cuda.design.upload(parts, dtype, threads)
            orders.append(order)
            matrices.append(uploaded)
        self._orders_on_gpu = orders  # these stay there, when ``orders`` come to the host
        super().__init__(orders, widths, dtype, in_blocks=in_blocks, some_unlabeled=len(given) == 2)
        self.labeled, *unlabeled = (
            cuda.design.DeviceDesign(parts, threads=threads) for parts in zip(*matrices, strict=True)
        )
        self.unlabeled = unlabeled[0] if unlabeled else None
        self.from_gpu = is_on_gpu(X)
        self._threads = threads

    @property
    def _home(self) -> Any:
        """NumPy or CuPy: the module of the arrays that the user gave."""
        return cuda.runtime.array_module() if self.from_gpu else np

    def like_coefficients(self, numbers: np.ndarray) -> Any:
        """Return numbers of the host in the type of the coefficients, and where these are."""
        return self._home.array(numbers, dtype=self.dtype)

    def zeros(self, K: int) -> Any:
        """Return coefficients of all features, of shape (K, d), where X was given."""
        return self._home.zeros((K, self.d), self.dtype)

    def mean_row(self, weights: np.ndarray) -> Any:
        """Return x̄, the weighted mean of the labelled rows, on the GPU; shape (d',)."""
        return self.labeled.transposed_dot((weights / weights.sum())[:, None])[:, 0]

    def expand(self, beta: Any) -> Any:
        """Return the (K, d) array of all features, given β of the host or of the GPU, where X was given."""
        xp = cuda.runtime.array_module()
        beta = xp.asarray(beta)
        coef = xp.zeros((beta.shape[1], self.d), self.dtype)
        start = done = 0
        for number, (order, width) in enumerate(zip(self._orders_on_gpu, self.widths, strict=True)):
            if number not in self.left_out:
                coef[:, start + order] = beta[done : done + len(order)].T
                done += len(order)
            start += width
        return coef if self.from_gpu else to_host(coef)

    @property
    def threads(self) -> int:
        """Number of threads for what is done on the host."""
        return self._threads

    def each(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Return ``[work(item) for item in items]``, one after the other: passes over X share memory."""
        return [work(item) for item in items]
