"""Checks of what users pass; an error is one sentence that names the parameter.

scikit-learn is imported where it is used: predictions of models from files do not need it.
"""

from math import isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse

from dropglm.base.blocks import Blocks
from dropglm.base.errors import InputError, InputTypeError
from dropglm.base.gpu_arrays import from_dlpack, is_on_gpu, to_host
from dropglm.base.threads import core_count


def number(given: Any, name: str) -> None:
    """Raise an error unless the value is a real number."""
    if not isinstance(given, Real) or isinstance(given, bool):
        raise InputTypeError(f"{name} must be a number, got {given!r}.")


def not_negative(given: Any, name: str) -> None:
    """Raise an error unless the value is a finite number of at least 0."""
    number(given, name)
    if not 0.0 <= given < np.inf:
        raise InputError(f"{name} must be finite and not negative, got {given}.")


def positive(given: Any, name: str) -> None:
    """Raise an error unless the value is a finite number above 0."""
    number(given, name)
    if not 0.0 < given < np.inf:
        raise InputError(f"{name} must be finite and above 0, got {given}.")


def whole_number(given: Any, name: str, least: int | None = None) -> None:
    """Raise an error unless the value is an integer, and not smaller than the least that is allowed."""
    if not isinstance(given, Integral) or isinstance(given, bool):
        raise InputTypeError(f"{name} must be an integer, got {given!r}.")
    if least is not None and given < least:
        raise InputError(f"{name} must be at least {least}, got {given}.")


def yes_or_no(given: Any, name: str) -> None:
    """Raise an error unless the value is True or False."""
    if not isinstance(given, (bool, np.bool_)):
        raise InputTypeError(f"{name} must be True or False, got {given!r}.")


def threads(n_jobs: int | None) -> int:
    """Return the number of threads: None means 1, -1 all cores, -2 all but one, and so on."""
    if n_jobs is None:
        return 1
    whole_number(n_jobs, "n_jobs")
    if n_jobs == 0:
        raise InputError("n_jobs must not be 0; use 1 for one thread or -1 for all cores.")
    return int(n_jobs) if n_jobs > 0 else max(1, core_count() + 1 + int(n_jobs))


def on_cpu(estimator: Any) -> None:
    """Raise an error if an estimator is to be fitted on a GPU, where its kind of fit is not available."""
    if getattr(estimator, "device", None) not in (None, "cpu"):
        raise InputError(
            f"Fits to partitions run on CPUs only, but device={estimator.device!r}; use device=None."
        )


def fitted(model: Any, attribute: str) -> None:
    """Raise scikit-learn's ``NotFittedError`` unless the model has that attribute."""
    if not hasattr(model, attribute):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(model, attribute)


def seed(random_state: Any) -> int:
    """Return an integer seed drawn from the random state."""
    from sklearn.utils import check_random_state

    largest = np.iinfo(np.int32).max
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(largest))
    try:
        return int(check_random_state(random_state).randint(largest))
    except ValueError:
        raise InputError(
            f"random_state must be an int from 0 to 2^32 - 1, a RandomState, a Generator or None, "
            f"got {random_state!r}."
        ) from None


def seed_or_none(random_state: Any) -> None:
    """Raise an error unless this is a valid random state, without drawing from it."""
    if random_state is not None and not isinstance(
        random_state, (np.random.Generator, np.random.RandomState)
    ):
        seed(random_state)


def _checked(array: Any, name: str, **requirements: Any) -> Any:
    """Return the array after scikit-learn's checks, whose errors become one sentence that names it."""
    if isinstance(array, np.ma.MaskedArray):
        raise InputTypeError(f"{name} is a masked array; fill its missing entries first.")
    if getattr(getattr(array, "dtype", None), "kind", None) in ("m", "M"):
        raise InputTypeError(f"{name} contains dates or time spans, not numbers.")
    from sklearn.utils import check_array

    try:
        return check_array(array, input_name=name, **requirements)
    except (TypeError, ValueError, OverflowError) as error:
        reason = str(error).splitlines()[0].rstrip(" :.")
        if reason.startswith("Expected 2D array"):
            reason += "; Reshape your data, a row with reshape(1, -1) and a column with reshape(-1, 1)"
        if reason.startswith(("Found array with", "Expected 2D array")):
            message = f"{name} has the wrong shape: {reason}"
        elif f"Input {name} " in reason:
            message = reason
        else:
            message = f"{name} is not a numeric array: {reason}"
        raise (InputTypeError if isinstance(error, TypeError) else InputError)(f"{message}.") from None


def features(X: Any, name: str = "X") -> Any:
    """Return X as a finite float array, or as valid CSR or CSC, with at least one row and column."""
    if isinstance(X, Blocks):
        raise InputTypeError(
            f"{name} must be a single matrix here, not Blocks; use its tocsr() or toarray()."
        )
    X = from_dlpack(X)
    if is_on_gpu(X):
        return _features_on_gpu(X, name)
    if not _is_sound(X):
        X = _checked(X, name, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32))
    if sparse.issparse(X):
        _check_sparse(X, name)
    return X


def _is_sound(X: Any) -> bool:
    """Return whether scikit-learn's checks would return X as it is; the first one imports for 0.06 s."""
    if type(X) not in (np.ndarray, sparse.csr_array) or X.dtype not in (np.float64, np.float32):
        return False
    if X.ndim != 2 or min(X.shape) == 0:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        # A finite sum has no infinite or missing terms; one that overflows leaves the decision to others.
        return bool(np.isfinite((X.data if sparse.issparse(X) else X).sum()))


def _features_on_gpu(X: Any, name: str) -> Any:
    """Return a matrix of CuPy with floating-point numbers, all of them finite."""
    if X.ndim != 2:
        raise InputError(f"{name} has the wrong shape: {X.shape}, but it needs rows and columns.")
    if min(X.shape) == 0:
        raise InputError(f"{name} has the wrong shape: {X.shape}; it needs at least one row and one column.")
    if X.dtype.kind not in "buif":
        raise InputTypeError(f"{name} is not a numeric array: its type is {X.dtype}.")
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    if not bool(np.isfinite(getattr(X, "data", X) if hasattr(X, "indptr") else X).all()):
        raise InputError(f"Input {name} contains NaN or infinity.")
    return X


def features_or_blocks(X: Any, name: str = "X") -> Any:
    """Return X as ``features`` does, or as Blocks of one type if it is Blocks."""
    if not isinstance(X, Blocks):
        return features(X, name)
    blocks = [features(block, f"{name}.blocks[{number}]") for number, block in enumerate(X.blocks)]
    return Blocks(*(block.astype(X.dtype, copy=False) for block in blocks))


def is_unnamed(X: Any) -> bool:
    """Return whether X is of a kind whose columns have no names.

    scikit-learn takes 0.06 s to import what it looks for names with.
    """
    return isinstance(X, (np.ndarray, sparse.csr_array, Blocks)) or is_on_gpu(from_dlpack(X))


def same_names(X_unlabeled: Any, names: Any) -> None:
    """Raise an error if X_unlabeled is a table whose columns do not have these names, those of X if any."""
    if names is not None and hasattr(X_unlabeled, "columns") and list(X_unlabeled.columns) != list(names):
        raise InputError("The feature names of X_unlabeled differ from those of X, or their order does.")


def _check_sparse(X: Any, name: str) -> None:
    """Raise an error for a sparse matrix with inconsistent arrays, since kernels do not check bounds.

    SciPy's own full check reads all indices twice; read as unsigned integers, negative ones are too large.
    """
    try:
        X.check_format(full_check=False)
    except ValueError as error:
        raise InputError(f"{name} is not a valid sparse matrix: {error}.") from None
    size = X.shape[1] if X.format == "csr" else X.shape[0]
    if (np.diff(X.indptr) < 0).any():
        raise InputError(f"{name} is not a valid sparse matrix: indptr must not decrease.")
    if X.nnz and X.indices.view(f"u{X.indices.itemsize}").max() >= size:
        raise InputError(
            f"{name} is not a valid sparse matrix: its indices must be between 0 and {size - 1}."
        )


def numbers(array: Any, name: str) -> np.ndarray:
    """Return a finite float64 array of at least one dimension."""
    if isinstance(array, float) and isfinite(array):
        return np.array([array])
    array = to_host(array)
    if np.isscalar(array) or getattr(array, "ndim", 1) == 0:
        array = [array]
    return np.asarray(_checked(array, name, ensure_2d=False, allow_nd=True, dtype=np.float64))


def weights(given: Any, n: int, name: str = "sample_weight", rows: str = "X") -> np.ndarray:
    """Return the non-negative weights of n rows; a single number applies to all rows, None means 1."""
    if given is None:
        return np.ones(n)
    checked = numbers(given, name)
    if isinstance(given, Real):
        checked = np.full(n, float(given))
    if checked.shape != (n,):
        raise InputError(f"{name} has shape {checked.shape}, but {rows} has {n} rows.")
    if (checked < 0).any():
        raise InputError(f"{name} must not be negative, but that of row {int(np.argmin(checked))} is.")
    return checked


def missing(labels: np.ndarray) -> int | None:
    """Return the index of the first label that is missing or infinite; None if there is no such label.

    Examples
    --------
    >>> missing(np.array(["a", None], object)), missing(np.array([1.0, 0.0, np.inf]))
    (1, 2)
    """
    if labels.dtype.kind not in "OfmM":
        return None
    infinite = (isinstance(label, (float, np.floating)) and np.isinf(label) for label in labels)
    found = np.flatnonzero(without_label(labels) | np.fromiter(infinite, bool, len(labels)))
    return int(found[0]) if len(found) else None


def without_label(labels: np.ndarray) -> np.ndarray:
    """Return which labels are missing: None, NaN, NaT or pandas' NA.

    Examples
    --------
    >>> without_label(np.array(["a", None, float("nan")], object))
    array([False,  True,  True])
    """
    if labels.dtype.kind not in "OfmM":
        return np.zeros(len(labels), bool)
    return np.fromiter(map(_is_missing, labels), bool, len(labels))


def groups(given: Any, n: int) -> np.ndarray:
    """Return the group of each of n rows as an array; none may be missing.

    Examples
    --------
    >>> groups([("a", 1), ("b", 1)], 2)[0]
    ('a', 1)
    """
    given = to_host(given)
    if not hasattr(given, "shape") or given.shape != (n,):
        if not np.iterable(given):
            raise InputTypeError(f"groups must have one label for each of the {n} rows, got {given!r}.")
        labels = list(given)
        if len(labels) != n or any(isinstance(label, (np.ndarray, list)) for label in labels):
            shape = np.shape(labels[:1])[1:]
            raise InputError(
                f"groups must have one label for each of the {n} rows, got the shape {(len(labels), *shape)}."
            )
        given = np.empty(n, object)
        given[:] = labels
    found = np.asarray(given)
    row = missing(found)
    if row is not None:
        raise InputError(f"groups has no label for row {row}; give every row one, such as its own number.")
    return found


def fractional(labels: np.ndarray) -> int | None:
    """Return the index of the first label that is a number with a fraction, or None.

    Examples
    --------
    >>> fractional(np.array([1.0, 2.5])), fractional(np.array(["2.5"]))
    (1, None)
    """
    if labels.dtype.kind != "f":
        return None
    places = np.flatnonzero(labels != np.floor(labels))
    return int(places[0]) if len(places) else None


def _is_missing(label: Any) -> bool:
    try:
        return label is None or bool(label != label)
    except TypeError:  # comparisons of pandas' NA have no truth value
        return True


def some_weight(weights: np.ndarray) -> None:
    """Raise an error if every weight is 0."""
    if not weights.any():
        raise InputError("sample_weight is zero in every row.", "sample_weight")
