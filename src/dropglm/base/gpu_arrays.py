"""Arrays that live on a GPU, as far as the rest of the package has to recognise them.

Neither CuPy nor a GPU is needed to ask.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dropglm.base.imports import import_extra

CUDA_DEVICES = (2, 13)  # DLPack's numbers of device memory and of managed memory


def is_on_gpu(X: Any) -> bool:
    """Return whether X is an array or a sparse matrix of CuPy.

    Examples
    --------
    >>> is_on_gpu([[1.0, 2.0]])
    False
    """
    return type(X).__module__.partition(".")[0] in ("cupy", "cupyx")


def from_dlpack(X: Any) -> Any:
    """Return an array of another library on a GPU as one of CuPy, without a copy; others as they are."""
    device = getattr(X, "__dlpack_device__", None)
    if is_on_gpu(X) or device is None or not hasattr(X, "__dlpack__"):
        return X
    try:
        kind = int(device()[0])
    except (TypeError, ValueError, RuntimeError, BufferError):  # no array of numbers, or not on any device
        return X
    if kind not in CUDA_DEVICES:
        return X
    return import_extra("cupy", "cuda", "Arrays on a GPU need").from_dlpack(X)


def to_host(X: Any) -> Any:
    """Return an array of a GPU as one of NumPy or SciPy; anything else as it is."""
    X = from_dlpack(X)
    return X.get() if is_on_gpu(X) else X


def like(array: Any, numbers: Any) -> Any:
    """Return numbers of NumPy as an array of CuPy if ``array`` is one; strings stay with NumPy."""
    if not is_on_gpu(array) or numbers.dtype.kind not in "biuf":
        return numbers
    return import_extra("cupy", "cuda", "Arrays on a GPU need").asarray(numbers)


def concatenate(arrays: Sequence[Any]) -> Any:
    """Return arrays one below the other; on the GPU if one of them is there.

    Examples
    --------
    >>> import numpy as np
    >>> concatenate([np.zeros((1, 2)), np.ones((1, 2))]).tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    """
    on_gpu = next((array for array in arrays if is_on_gpu(array)), None)
    return np.concatenate(arrays if on_gpu is None else [like(on_gpu, to_host(one)) for one in arrays])


def predictors_on_gpu(X: Any, coef: Any, intercept: Any) -> Any:
    """Return Xβ + b for rows X of CuPy; shape (n, K), an array of CuPy."""
    cupy = import_extra("cupy", "cuda", "Arrays on a GPU need")
    coef = cupy.atleast_2d(cupy.asarray(coef.toarray() if hasattr(coef, "toarray") else coef))
    return X @ cupy.ascontiguousarray(coef.T) + cupy.atleast_1d(cupy.asarray(intercept))
