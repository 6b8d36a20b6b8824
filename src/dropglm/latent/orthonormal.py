"""Tall matrices in slices of rows: orthonormal bases, and products of their columns.

A tall matrix of shape (n, l) is stored in blocks of columns, as an array of shape (blocks, n, l / blocks).
The functions work on slices of rows that do not depend on the number of threads, so neither do the results.
"""

from functools import reduce

import numpy as np

from dropglm.threads import each, even_ranges

# Rows per slice: its QR decomposition works within the cache.
SLICE = 4096


def slices(blocks: np.ndarray) -> list[tuple[int, int]]:
    """Return the slices of rows; each has at least as many rows as there are columns, if n allows."""
    n, width = blocks.shape[1], len(blocks) * blocks.shape[2]
    return even_ranges(n, piece=max(SLICE, 8 * width))


def rows_of(blocks: np.ndarray, bounds: tuple[int, int]) -> np.ndarray:
    """Return rows first to last - 1 as a matrix of shape (last - first, l)."""
    first, last = bounds
    return np.concatenate(list(blocks[:, first:last]), axis=1)


def orthonormal_basis(blocks: np.ndarray, threads: int) -> np.ndarray:
    """Return an orthonormal basis of the columns, in blocks: the factor Q of the QR decomposition.

    The slices are decomposed on their own, then the triangular factors of all slices together (Demmel and
    others 2012). In contrast to the Gram matrix of the columns this does not lose small singular values.
    """
    bounds = slices(blocks)
    parts = each(lambda piece: np.linalg.qr(rows_of(blocks, piece)), bounds, threads)
    together = np.linalg.qr(np.concatenate([R for _, R in parts]))[0]
    pieces = np.split(together, len(parts))
    basis = np.empty_like(blocks)

    def multiply(s: int) -> None:
        first, last = bounds[s]
        product = parts[s][0] @ pieces[s]
        basis[:, first:last] = product.reshape(last - first, len(blocks), -1).transpose(1, 0, 2)

    each(multiply, range(len(parts)), threads)
    return basis


def gram_matrices(Q: np.ndarray, W: np.ndarray, threads: int) -> tuple[np.ndarray, np.ndarray]:
    """Return QᵀW and WᵀW, as float64."""

    def part(bounds: tuple[int, int]) -> np.ndarray:
        w = rows_of(W, bounds).astype(np.float64)
        return np.stack([rows_of(Q, bounds).astype(np.float64).T @ w, w.T @ w])

    QW, WW = reduce(np.add, each(part, slices(Q), threads))
    return QW, WW


def combined(blocks: np.ndarray, weights: np.ndarray, threads: int) -> np.ndarray:
    """Return the tall matrix times weights of shape (l, k), as an ordinary matrix of shape (n, k)."""
    product = np.empty((blocks.shape[1], weights.shape[1]), blocks.dtype)
    weights = weights.astype(blocks.dtype)

    def part(bounds: tuple[int, int]) -> None:
        product[slice(*bounds)] = rows_of(blocks, bounds) @ weights

    each(part, slices(blocks), threads)
    return product
