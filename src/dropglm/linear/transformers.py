"""Transformers: columns of a table as blocks, and dense features from sparse ones."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.utils.validation import check_is_fitted, validate_data

from dropglm.base import checks
from dropglm.base.blocks import Blocks
from dropglm.base.errors import InputError
from dropglm.core.latent import (
    SingularVectors,
    products,
    single_threaded_blas,
    singular_vectors,
    squared_norm,
)


# scikit-learn must not turn the blocks into a table, whatever its setting for the output of transformers.
class BlockTransformer(ColumnTransformer, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Apply a transformer to each group of columns, and keep the results as blocks.

    This is scikit-learn's ColumnTransformer, with the same parameters, methods and attributes, except that
    the results are returned as ``Blocks`` rather than concatenated. So an estimator can treat the blocks
    differently, and dense results stay dense beside sparse ones. The blocks are in the order of the
    transformers; one that is dropped or has no columns has no block, and remaining columns that are passed
    through are the last block.

    Parameters
    ----------
    transformers : list of tuples (name, transformer, columns)
        The transformers and their columns; a single name instead of a list passes the column itself, as
        vectorizers need.
    remainder : {"drop", "passthrough"} or estimator, default="drop"
        What becomes of the other columns.
    sparse_threshold : float, default=0.3
        Without effect: each result keeps its form.
    n_jobs : int, default=None
        Number of transformers that are fitted in parallel.
    transformer_weights : dict, default=None
        Factors of the results, by the name of the transformer.
    verbose : bool, default=False
        Whether to print the time that each transformer takes.
    verbose_feature_names_out : bool, str or callable, default=True
        Whether the names of features start with those of the transformers.

    Attributes
    ----------
    transformers_ : list of tuples (name, fitted transformer, columns)
        The fitted transformers, and what became of the other columns.
    named_transformers_ : Bunch
        The fitted transformers by name.
    n_features_in_ : int
        Number of columns of the table.
    feature_names_in_ : ndarray of shape (n_features_in,)
        Their names, if they are strings.

    See Also
    --------
    Blocks : What this returns.
    PerBlock : A setting with one value per block.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from dropglm import BlockTransformer, LogisticRegression, NgramVectorizer, PerBlock
    >>> table = pd.DataFrame({"text": ["good film", "bad film", "good", "bad plot"], "length": [9, 8, 4, 8]})
    >>> steps = [("words", NgramVectorizer(), "text"), ("numbers", StandardScaler(), ["length"])]
    >>> blocks = BlockTransformer(steps)
    >>> blocks.fit_transform(table)
    Blocks of shape (4, 5): csr (4, 4), dense (4, 1)
    >>> model = make_pipeline(blocks, LogisticRegression(dropout=PerBlock(0.5, 0.0), l2=0.1))
    >>> model.fit(table, ["pos", "neg", "pos", "neg"]).predict(table)
    array(['pos', 'neg', 'pos', 'neg'], dtype='<U3')
    """

    def _hstack(self, Xs: Sequence[Any], *, n_samples: int) -> Blocks:
        """Return the results as blocks; ColumnTransformer leaves this step to subclasses."""
        return Blocks(*Xs)


@dataclass(eq=False, repr=False)
class LatentFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Project rows on the first singular vectors of labelled and unlabelled rows.

    For texts this is latent semantic analysis: n-grams that occur in the same texts share a direction, so a
    model can learn about n-grams that no labelled text contains. The rows are not centred, so that sparse
    rows can be used as they are. The result is that of scikit-learn's ``TruncatedSVD``, up to signs and the
    error of the random start.

    Parameters
    ----------
    n_components : int, default=100
        Number of singular vectors. There are fewer if the rank of the rows is smaller.
    n_iter : int or None, default=None
        Number of passes over the data. With more passes, the vectors are closer to the exact ones. None means
        0.16 times ``n_components``, but at least 8. There are always enough for ``n_components`` vectors.
    random_state : int, RandomState instance, Generator or None, default=0
        Seed of the random start. By default the same data always give the same vectors.
    n_jobs : int or None, default=None
        Number of threads; None means 1, -1 all cores. The result does not depend on it.

    Attributes
    ----------
    components_ : ndarray of shape (k, d)
        The singular vectors, of length 1 and orthogonal to each other.
    singular_values_ : ndarray of shape (k,)
        The singular values, in decreasing order.
    explained_share_ : ndarray of shape (k,)
        Squared singular values, divided by the sum of the squares of all entries.
    n_components_ : int
        Number of vectors.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, if X is a data frame whose column names are strings.

    See Also
    --------
    sklearn.decomposition.TruncatedSVD : The same projection, from labelled rows only.

    Notes
    -----
    A linear model of the latent features is also one of the original features: if ``coef`` are its
    coefficients, ``coef @ components_`` are those of the features.

    Examples
    --------
    >>> from dropglm import LatentFeatures, NgramVectorizer
    >>> texts = ["great film", "dull film", "great story", "dull plot"]
    >>> more = ["a great lovely story", "a lovely film", "boring and dull", "a boring plot"]
    >>> words = NgramVectorizer().fit(texts + more)
    >>> latent = LatentFeatures(n_components=2)
    >>> latent.fit_transform(words.transform(texts), X_unlabeled=words.transform(more)).shape
    (4, 2)
    >>> latent.transform(words.transform(["lovely", "boring"])).round(1)
    array([[ 0.4, -0.3],
           [ 0.3,  0.4]], dtype=float32)
    """

    # As in the other estimators of this package, metadata routing needs no request for unlabelled rows.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"X_unlabeled": True}

    n_components: int = 100
    _: KW_ONLY
    n_iter: int | None = None
    random_state: Any = 0
    n_jobs: int | None = None

    def fit(self, X: Any, y: Any = None, X_unlabeled: Any = None) -> Self:
        """Learn the singular vectors.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_features)
            Rows.
        y : None
            Ignored.
        X_unlabeled : array or sparse matrix of shape (m, n_features), optional
            More rows, with the same features.

        Returns
        -------
        Self
            The estimator itself.
        """
        self._fit(X, X_unlabeled)
        return self

    def fit_transform(self, X: Any, y: Any = None, X_unlabeled: Any = None) -> np.ndarray:
        """Learn the singular vectors and return the latent features of X, without another pass over the data.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_features)
            Rows.
        y : None
            Ignored.
        X_unlabeled : array or sparse matrix of shape (m, n_features), optional
            More rows, with the same features.

        Returns
        -------
        ndarray of shape (n, k)
            In the type of X, float32 or float64.
        """
        found, n = self._fit(X, X_unlabeled)
        return found.coordinates[:n].copy()

    def transform(self, X: Any) -> np.ndarray:
        """Return the latent features, the product of X with the transposed ``components_``.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n, k)
            In the type of X, float32 or float64.
        """
        check_is_fitted(self)
        checked = checks.features(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        with single_threaded_blas():
            return products(checked).dot(
                self.components_.T.astype(checked.dtype, copy=False), checks.threads(self.n_jobs)
            )

    def _fit(self, X: Any, X_unlabeled: Any) -> tuple[SingularVectors, int]:
        """Set the fitted attributes, and return what was found and the number of rows of X."""
        settings = {"n_components": self.n_components, "n_iter": 1 if self.n_iter is None else self.n_iter}
        for name, given in settings.items():
            checks.whole_number(given, name, least=1)
        rows = checks.features(X)
        validate_data(self, X, skip_check_array=True)  # sets n_features_in_ and feature_names_in_
        n = rows.shape[0]
        if X_unlabeled is not None:
            checks.same_names(X_unlabeled, getattr(self, "feature_names_in_", None))
            rows = _stacked(rows, checks.features(X_unlabeled, "X_unlabeled"))
        found = singular_vectors(
            rows,
            self.n_components,
            steps=self.n_iter,
            seed=checks.seed(self.random_state),
            threads=checks.threads(self.n_jobs),
        )
        self.components_ = found.vectors().T
        self.singular_values_ = found.singular_values
        self.explained_share_ = found.singular_values**2 / (
            squared_norm(rows, checks.threads(self.n_jobs)) or 1.0
        )
        self.n_components_ = len(found.singular_values)
        return found, n

    @property
    def _n_features_out(self) -> int:
        """Number of columns, for the names of the features."""
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        """Declare to scikit-learn that X may be sparse, and that float32 stays float32."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _stacked(X: Any, X_unlabeled: Any) -> Any:
    """Return the rows of both."""
    if X_unlabeled.shape[1] != X.shape[1]:
        raise InputError(f"X_unlabeled has {X_unlabeled.shape[1]} columns, but X has {X.shape[1]}.")
    if sparse.issparse(X) or sparse.issparse(X_unlabeled):
        return sparse.vstack([sparse.csr_array(X), sparse.csr_array(X_unlabeled)], format="csr")
    return np.concatenate([X, X_unlabeled])
