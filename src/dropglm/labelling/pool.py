"""Texts to label, as features that are computed once: a model can be fitted again after a few labels."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from dropglm import checks
from dropglm.blocks import Blocks
from dropglm.design import Design
from dropglm.errors import InputError
from dropglm.labelling.copies import first_copies
from dropglm.labelling.pool_model import PoolModel, fit_pool_model
from dropglm.labelling.refit import SAMPLE
from dropglm.latent import singular_vectors
from dropglm.text.base import check_texts
from dropglm.text.latent_prior import LatentPrior
from dropglm.text.vectorizer import NgramVectorizer

NGRAM_WEIGHT = 0.5  # as in TextClassifier, with few labels
LATENT_POWER = (1.0,)  # of the inverse document frequency, beyond that in X


class TextPool:
    """Texts to label, as features for models that are fitted again and again.

    Parameters
    ----------
    texts : iterable of str
        The texts, labelled or not.
    n_latent : int, default=50
        Number of latent features, as in ``TextClassifier``.
    n_jobs : int or None, default=None
        Number of threads; None means 1, -1 all cores.

    Attributes
    ----------
    texts : list of str
        The texts. A text is identified by its position in this list.
    copy_of : ndarray of shape (n,)
        Number of the first text that is equal but for case and white space; its own number for the first.
    vectorizer : NgramVectorizer
        The fitted vectorizer.
    X : CSR matrix of shape (n, d)
        The n-grams of the texts, weighted as by ``TextClassifier``.
    latent : ndarray of shape (n, k)
        Latent features, scaled so that each row has length 1; rows of texts without known words are 0.
    features : Blocks
        The n-grams and, unless the texts have too few words, the latent features beside them.
    sample : ndarray of int
        Numbers of the texts, at most 5,000 drawn at random, that settings are chosen with.

    See Also
    --------
    choose_texts : Choose the texts to label next.

    Examples
    --------
    >>> from dropglm.labelling import TextPool
    >>> pool = TextPool(["a lovely film", "a dull film", "lovely music", "so dull", "A  dull film"])
    >>> pool.copy_of
    array([0, 1, 2, 3, 1])
    >>> model = pool.fit({0: "good", 1: "bad"})
    >>> model.classes
    ['bad', 'good']
    >>> model.probabilities[[2, 3]].argmax(axis=1)
    array([1, 0])
    """

    def __init__(self, texts: Iterable[str], *, n_latent: int = 50, n_jobs: int | None = None) -> None:
        checks.whole_number(n_latent, "n_latent")
        self.texts = check_texts(texts)
        self.n_jobs = n_jobs
        self.vectorizer = NgramVectorizer(
            (1, 2),
            (1, 2),
            binary=False,
            sublinear_tf=True,
            use_idf=True,
            norm="l2",
            ngram_weight=NGRAM_WEIGHT,
            n_jobs=n_jobs,
        )
        self.X = self.vectorizer.fit_transform(self.texts)
        threads = checks.threads(n_jobs)
        prior = LatentPrior.of(self.X, self.vectorizer, n_latent, threads, LATENT_POWER) if n_latent else None
        if prior is None:
            self.features = Blocks(self.X)
            rows = singular_vectors(self.X, max(n_latent, 1), threads=threads).coordinates
        else:
            self.features = prior.beside(self.X, 0)
            rows = self.features.blocks[1]
            self._fold_back = prior.blocks[0].fold_back
        self.latent = of_length_one(rows)
        self.sample = np.sort(np.random.default_rng(0).permutation(len(self.texts))[:SAMPLE])

    @cached_property
    def copy_of(self) -> np.ndarray:
        """Number of the first text that is equal but for case and white space."""
        return first_copies(self.texts)

    @cached_property
    def design(self) -> Design:
        """The n-grams, stored by rows and by columns."""
        return Design(self.X, threads=checks.threads(self.n_jobs)).by_columns()

    @cached_property
    def directions(self) -> tuple[np.ndarray, np.ndarray]:
        """The n-grams that latent features consist of, and the coefficient of each in every feature."""
        whole = self._fold_back(np.eye(self.features.widths[1], dtype=self.X.dtype))
        kept = np.flatnonzero(whole.any(axis=1))
        return kept, whole[kept]

    @cached_property
    def scale(self) -> np.ndarray:
        """By how much n-grams are scaled where they are ranked: mean value times root of number of texts."""
        # Without the interpreter's lock, which bincount holds: for 0.4 s with 50,000 texts.
        totals = self.design.transposed_dot(np.ones((len(self.texts), 1)))[:, 0]
        return totals / np.sqrt(np.maximum(self.vectorizer.ngrams_.document_counts, 1))

    def __len__(self) -> int:
        return len(self.texts)

    def fit(self, labels: Mapping[int, str], start: PoolModel | None = None) -> PoolModel:
        """Fit a model to some labels.

        Parameters
        ----------
        labels : mapping of int to str
            The label of each labelled text, by its number.
        start : PoolModel, optional
            An earlier model of the same pool, whose settings are used again if the number of labels has not
            grown much.

        Returns
        -------
        PoolModel
            With fewer than two classes there is nothing to learn: ``probabilities`` are then 1 for the only
            class.
        """
        n = len(self.texts)
        for number in labels:
            if not 0 <= number < n:
                raise InputError(f"There is a label for text {number}, but texts are numbered 0 to {n - 1}.")
        return fit_pool_model(self, labels, start)


def of_length_one(rows: Any) -> np.ndarray:
    """Return rows divided by their lengths; rows of zeros stay as they are."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    return rows / np.where(lengths > 0.0, lengths, 1.0)[:, None].astype(rows.dtype)
