"""Naive Bayes' log ratios, smoothed by the frequencies of all rows."""

import numpy as np

from dropglm.base.gpu_arrays import is_on_gpu
from dropglm.base.threads import each, even_ranges
from dropglm.core.design import AnyDesign

PIECE = 1 << 16  # ratios per task; they fit into the cache


def log_ratios(design: AnyDesign, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return r_kj = log (P(k | j) + 1) / (P(k) + 1) for class k and feature j.

    n_kj = Σ_i w_i y_ik x_ij is the total of feature j in class k; n_j, n_k and N are its sums over classes,
    features and both. P(k | j) = n_kj / n_j is the share of the class in the feature, P(k) = n_k / N its
    share in all features. This is naive Bayes' log frequency of the feature in the class, smoothed by adding
    the totals of all classes, minus its log frequency in all classes:

        r_kj = log (n_kj + n_j) / (n_k + N)  -  log n_j / N.

    So a feature that is spread over the classes like all features together has ratio 0, however rare it is,
    and no class gains from having fewer rows; adding one to every count has neither property. Scaling a
    feature does not change its own P(k | j), and changes ratios only through P(k).

    Parameters
    ----------
    design : Design or BlockDesign of shape (n, d)
        Rows, without negative numbers. Only the features of the first block have ratios; those of the others
        are 0.
    y : ndarray of shape (n, K)
        1 for the class of a row, 0 for the others.
    weights : ndarray of shape (n,)
        Weights of the rows.

    Returns
    -------
    ndarray of shape (d, K), or (d, 1) for two classes
        For two classes, the ratios of the second minus those of the first. Features that occur in no row have
        ratio 0.

    Examples
    --------
    >>> import numpy as np
    >>> from dropglm.core.design import Design
    >>> rows = Design(np.array([[1.0, 1.0], [0.0, 1.0]]))
    >>> log_ratios(rows, np.eye(2), np.ones(2)).round(2).T  # P(0 | first) = 1, P(0) = 2/3
    array([[-0.47,  0.22]])
    """
    _, columns, first = design.blocks[0]
    totals = first.transposed_dot(weights[:, None] * y).astype(np.float64)
    return beside_zeros(ratios_of(totals, threads=first.threads), columns, design.shape[1])


def beside_zeros(ratios: np.ndarray, columns: slice, d: int) -> np.ndarray:
    """Return ratios of all d features, given those of some columns; the others have ratio 0."""
    if len(ratios) == d:
        return ratios
    r = np.zeros_like(ratios, shape=(d, ratios.shape[1]))
    r[columns] = ratios
    return r


def ratios_of(
    totals: np.ndarray, *, floor: float = 1.0, pseudo_total: float = 0.0, threads: int = 1
) -> np.ndarray:
    """Return log (P(k | j) + ε) / (P(k) + ε) with P(k | j) = (n_kj + a P(k)) / (n_j + a), given all n_kj.

    With ε = 1 and a = 0 these are the ratios of ``log_ratios``, for few rows whose labels are known. With
    many rows, a smaller ε gives features that are rare in a class a clearly negative ratio, and a keeps the
    ratios of features with small totals near 0.

    Parameters
    ----------
    totals : ndarray of shape (d, K), or an array of CuPy
        n_kj, the total of feature j in class k.
    floor : float
        ε.
    pseudo_total : float
        a, in the unit of the features.
    threads : int
        Number of threads, which share the features.

    Returns
    -------
    ndarray of shape (d, K), or (d, 1) for two classes

    Examples
    --------
    >>> ratios_of(np.array([[1.0, 0.0], [1.0, 1.0]]), floor=0.1, pseudo_total=1.0).round(2).T
    array([[-0.68,  0.38]])
    """
    several = totals.shape[1] > 2
    grand_total = totals.sum()
    r = np.empty_like(totals, shape=(len(totals), totals.shape[1] if several else 1))
    of_class = (
        totals.sum(axis=0) / grand_total if grand_total else np.zeros_like(totals, shape=totals.shape[1])
    )

    def fill(bounds: tuple[int, int]) -> None:
        part = totals[slice(*bounds)]
        by_feature = part.sum(axis=1, keepdims=True)
        # In place: new memory for every operation took most of the time.
        own = part + pseudo_total * of_class
        with np.errstate(invalid="ignore"):
            own /= by_feature + pseudo_total
        own += floor
        own /= of_class + floor
        np.log(own, out=own)
        own[by_feature[:, 0] <= 0.0] = 0.0
        r[slice(*bounds)] = own if several else own[:, [1]] - own[:, [0]]

    piece = len(totals) if is_on_gpu(totals) else PIECE // totals.shape[1]
    each(fill, even_ranges(len(totals), max(1, piece)), threads)
    return r
