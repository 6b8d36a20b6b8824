"""Feature matrices of several blocks of columns, and settings with one value per block."""

from collections.abc import Sequence
from numbers import Real
from typing import Any, Self

import numpy as np
from scipy import sparse

from dropglm.base.errors import InputError, InputTypeError


class PerBlock:
    """A setting with one value for each block of the features.

    Parameters
    ----------
    *values
        The values, in the order of the blocks.

    See Also
    --------
    Blocks : A feature matrix of several blocks.

    Examples
    --------
    >>> from dropglm import LogisticRegression, PerBlock
    >>> model = LogisticRegression(dropout=PerBlock(0.5, 0.0), l2_weights=PerBlock("naive_bayes", 0.3))
    >>> model.dropout
    PerBlock(0.5, 0.0)
    """

    # Not iterable, so that a grid of a search never takes the values for candidates.
    def __init__(self, *values: Any) -> None:
        if not values:
            raise InputError("PerBlock needs a value for each block, got none.")
        self.values = values

    def __repr__(self) -> str:
        return f"PerBlock({', '.join(map(repr, self.values))})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PerBlock):
            return NotImplemented
        same_length = len(self.values) == len(other.values)
        return same_length and all(map(np.array_equal, self.values, other.values))

    def __hash__(self) -> int:
        # Equal numbers have equal hashes, whatever their type; lists and arrays have none.
        return hash(tuple(value if isinstance(value, (str, Real)) else None for value in self.values))


class Blocks:
    """A feature matrix X = [X_1 | X_2 | ...] of several blocks of columns, each stored in its own form.

    Estimators fit one model to all columns. Settings that are a ``PerBlock`` have one value per block: a
    block of word counts may have dropout, and a dense block beside it additive noise or none. Rows are
    selected by indexing, so that scikit-learn can split the matrix.

    Parameters
    ----------
    *blocks : array-like or sparse of shape (n, d_1), (n, d_2), ...
        Matrices with the same rows. Sparse ones are kept as CSR, all others as arrays; nothing is copied if
        they are stored that way already.

    Attributes
    ----------
    blocks : tuple of ndarrays and scipy.sparse.csr_arrays
        The blocks.
    widths : tuple of int
        Their numbers of columns.
    shape : tuple of int
        Numbers of rows and of all columns.
    dtype : dtype
        float32 if every block has this type, else float64: the type to which estimators convert the blocks.

    See Also
    --------
    PerBlock : A setting with one value per block.
    BlockTransformer : Makes blocks of the columns of a table.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from dropglm import Blocks, LogisticRegression, PerBlock
    >>> words = sparse.csr_array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    >>> numbers = np.array([[0.2], [-0.1], [0.4], [-0.3]])
    >>> X = Blocks(words, numbers)
    >>> X
    Blocks of shape (4, 4): csr (4, 3), dense (4, 1)
    >>> X[[0, 2]].shape
    (2, 4)
    >>> model = LogisticRegression(dropout=PerBlock(0.5, 0.0), noise_std=PerBlock(0.0, 0.1))
    >>> model.fit(X, [1, 1, 0, 0]).predict(X)
    array([1, 1, 0, 0])
    >>> [part.shape for part in model.coef_blocks_]
    [(1, 3), (1, 1)]
    """

    def __init__(self, *blocks: Any) -> None:
        if not blocks:
            raise InputError("Blocks needs at least one matrix, got none.")
        self.blocks = tuple(_stored(block, number) for number, block in enumerate(blocks))
        rows = {block.shape[0] for block in self.blocks}
        if len(rows) > 1:
            shapes = ", ".join(str(block.shape) for block in self.blocks)
            raise InputError(f"All blocks must have the same number of rows, got the shapes {shapes}.")
        self.widths = tuple(block.shape[1] for block in self.blocks)
        self.shape = (rows.pop(), sum(self.widths))

    @property
    def ndim(self) -> int:
        """2."""
        return 2

    @property
    def dtype(self) -> np.dtype:
        """The type to which estimators convert the blocks."""
        single = all(block.dtype == np.float32 for block in self.blocks)
        return np.dtype(np.float32 if single else np.float64)

    def __getitem__(self, rows: Any) -> Self:
        """Return the rows of an index array, a mask or a slice, as Blocks; a number selects one row."""
        if isinstance(rows, tuple):  # scikit-learn asks for X[rows, ...]
            rows, *others = rows
            if any(other is not Ellipsis and other != slice(None) for other in others):
                raise IndexError("Only rows of Blocks can be selected; index one of .blocks for columns.")
        if not isinstance(rows, slice):
            rows = np.atleast_1d(np.asarray(rows))
        return type(self)(*(block[rows] for block in self.blocks))

    def __matmul__(self, coef: Any) -> np.ndarray:
        """Return X @ coef for coefficients of all columns."""
        total: Any = 0.0
        for block, width, end in zip(self.blocks, self.widths, np.cumsum(self.widths), strict=True):
            product = block @ coef[end - width : end]
            total = total + (product.toarray() if sparse.issparse(product) else product)
        return np.asarray(total)

    def toarray(self) -> np.ndarray:
        """Return all columns as one dense array.

        Returns
        -------
        ndarray of shape (n, d)
            The blocks side by side.
        """
        return np.hstack([block.toarray() if sparse.issparse(block) else block for block in self.blocks])

    def tocsr(self) -> "sparse.csr_array":
        """Return all columns as one CSR array.

        Returns
        -------
        csr_array of shape (n, d)
            The blocks side by side.
        """
        return sparse.csr_array(sparse.hstack([sparse.csr_array(block) for block in self.blocks]))

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise InputTypeError("Blocks are not converted to an array automatically; use toarray() or tocsr().")

    def __repr__(self) -> str:
        parts = [f"{'csr' if sparse.issparse(block) else 'dense'} {block.shape}" for block in self.blocks]
        return f"Blocks of shape {self.shape}: {', '.join(parts)}"


def _stored(block: Any, number: int) -> Any:
    """Return a block as CSR if it is sparse, else as an array."""
    if isinstance(block, list | tuple) and any(hasattr(part, "shape") for part in block):
        raise InputTypeError(f"Block {number} is a list of matrices; pass them one by one, as Blocks(A, B).")
    stored = sparse.csr_array(block) if sparse.issparse(block) else np.asarray(block)
    if stored.ndim != 2:
        raise InputError(
            f"Block {number} has shape {stored.shape}, but a block has rows and columns; reshape a single "
            "column with reshape(-1, 1)."
        )
    return stored


def block_count(X: Any) -> int | None:
    """Return the number of blocks of X, or None if X is a single matrix."""
    return len(X.blocks) if isinstance(X, Blocks) else None


def values_by_block(given: Any, count: int | None, name: str) -> Sequence[Any]:
    """Return the value of a setting for each of ``count`` blocks; None stands for a single matrix.

    Examples
    --------
    >>> values_by_block(PerBlock(0.5, 0.0), 2, "dropout"), values_by_block(0.5, 2, "dropout")
    ((0.5, 0.0), (0.5, 0.5))
    """
    if not isinstance(given, PerBlock):
        return (given,) * (count or 1)
    if count is None:
        raise InputTypeError(f"{name} has one value per block, but X is a single matrix; pass Blocks.")
    if len(given.values) != count:
        raise InputError(f"{name} has {len(given.values)} values, but X has {count} blocks.")
    return given.values
