"""Hashed n-gram features, which need no vocabulary: memory does not grow with the number of texts."""

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from sklearn.base import TransformerMixin

from dropglm.text.estimator import TextEstimator
from dropglm.text.hashed_features import HashedFeatures


# Like HashingVectorizer, it has no set_output: a data frame cannot hold a sparse matrix.
class NgramHasher(  # type: ignore[call-arg]
    TransformerMixin, HashedFeatures, TextEstimator, auto_wrap_output_keys=None
):
    r"""Convert texts to a sparse matrix of hashed n-grams.

    An entry is 1 if the text contains an n-gram that is hashed to the column. There is nothing to fit, and
    memory does not grow with the number of texts. Different n-grams can share a column, which costs little
    accuracy as long as there are more columns than frequent n-grams.

    Parameters
    ----------
    bits : int, default=20
        The matrix has 2**bits columns; at most 30.
    ngram_range : tuple (int, int), default=(1, 2)
        The smallest and the largest n.
    lowercase : bool, default=True
        Convert texts to lower case first.
    token_pattern : str, default=r"[\\w']+|[^\\w\\s]"
        Regular expression that matches a token, as in ``NgramVectorizer``.
    strip_html : bool, default=True
        Replace tags such as ``<br />`` by spaces.
    n_jobs : int or None, default=None
        Number of threads; None means 1, -1 all cores. The result does not depend on it.
    verbose : int, default=0
        If not 0, show progress on standard error.

    Attributes
    ----------
    ngrams_ : Buckets
        Names of the columns, if ``partial_fit`` has recorded them; the hasher of a fitted
        ``OnlineTextClassifier`` also has them.
    n_texts_ : int
        Number of texts from which the names were taken.

    See Also
    --------
    NgramVectorizer : N-grams with a vocabulary.
    OnlineTextClassifier : A classifier that uses this hasher.

    Examples
    --------
    >>> from dropglm import NgramHasher
    >>> X = NgramHasher(bits=10).fit_transform(["It's dull!", "Dull<br />film"])
    >>> X.shape, X.nnz
    ((2, 1024), 8)

    Names are optional, and taken from the texts that the hasher is shown:

    >>> hasher = NgramHasher(bits=10).partial_fit(["a dull film"])
    >>> columns = hasher.transform(["a dull story"]).indices
    >>> sorted(hasher.get_feature_names_out()[columns])
    ['a', 'a dull', 'dull', 'ngramhasher639', 'ngramhasher758']
    """

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Check the settings and forget names of columns; there is nothing to learn.

        Parameters
        ----------
        X : None
            Ignored.
        y : None
            Ignored.

        Returns
        -------
        Self
            The estimator itself.
        """
        self._check()
        for name in ("ngrams_", "n_texts_"):
            if hasattr(self, name):
                delattr(self, name)
        return self

    def partial_fit(self, X: Iterable[str], y: Any = None) -> Self:
        """Name columns after the n-grams of these texts; the matrix does not depend on it.

        A column keeps the first n-gram that is hashed to it, of which the first 32 bytes are recorded. The
        names take 6 bytes per column, and their own bytes.

        Parameters
        ----------
        X : iterable of str
            Texts.
        y : None
            Ignored.

        Returns
        -------
        Self
            The estimator itself.
        """
        if len(getattr(self, "ngrams_", ())) != self._check()[2]:
            self._forget_names()
        for _ in self._hash_and_name(X):
            pass
        return self

    def fit_transform(self, X: Iterable[str], y: Any = None) -> Any:
        """Return the matrix of the texts, as ``transform`` does.

        Parameters
        ----------
        X : iterable of str
            Texts.
        y : None
            Ignored.

        Returns
        -------
        CSR matrix of shape (n, 2**bits)
            One row per text.
        """
        return self.fit().transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return a name for each column.

        It is the first n-gram that was hashed to the column in ``partial_fit``; further n-grams may share the
        column. Column j has the name "ngramhasher{j}" if there was none.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        ndarray of str objects, of shape (2**bits,)
            Names, in the order of the columns.
        """
        size = self._check()[2]
        names = np.array([f"ngramhasher{j}" for j in range(size)], dtype=object)
        if len(getattr(self, "ngrams_", ())) == size:
            used = np.flatnonzero(self.ngrams_.lengths)
            names[used] = self.ngrams_.names(used)
        return names

    def __sklearn_tags__(self) -> Any:
        """Declare to scikit-learn that there is nothing to fit, and that the output is float32."""
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.transformer_tags.preserves_dtype = []
        return tags
