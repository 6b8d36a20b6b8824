"""A classifier of tables with columns of texts, numbers and categories."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from dropglm.text.classifier import TextClassifier
from dropglm.text.columns import KINDS, Columns
from dropglm.text.fitted_model import FittedTextModel


@dataclass(eq=False, repr=False, kw_only=True)
class TableClassifier(TextClassifier):
    """Classifier of tables with columns of texts, numbers and categories.

    It is a ``TextClassifier`` whose texts have columns beside them. Each column of texts has n-grams of its
    own. Numbers are replaced by their ranks and may have effects that bend; categories that a single row has
    share one feature; missing values are a category. All of them are parts of one linear model, so
    explanations list words and columns together. Cross-validation chooses the dropout and the l2 weight of
    the columns, and whether they are used. With a single column of texts and no other, the model is that of
    ``TextClassifier``.

    Parameters
    ----------
    ngram_range, min_df, max_df, max_features, binary, sublinear_tf, use_idf, norm, idf_power, \
ngram_weight, characters, analyzer, stop_words, strip_accents, lowercase, token_pattern, strip_html, tune, \
dropout, l2, discount, l2_weights, expectation, calibrate, naive_bayes, n_latent, rounds, embedder, \
class_weight, cv, scoring, precision, tol, max_iter, n_jobs, device, random_state, verbose : as in \
TextClassifier
        An embedder is given the texts of a row as one string, with line feeds between them.
    text, numeric, categorical : str, sequence of str or None, default=None
        The columns of texts, of numbers or dates, and of categories. None means those that are found by the
        types of their values, among the columns that are not named; an empty list means none. Strings are
        texts if more than a fifth of the rows have a value that no other row has, or if they have more than
        six words on average; otherwise they are categories.

    Attributes
    ----------
    columns_ : Columns
        The columns that are used, and why others are not; print it.
    classes_, multilabel_, n_features_in_, vectorizer_, model_, search_, cv_probabilities_, summary_, \
thresholds_ : as in TextClassifier
        ``n_features_in_`` is the number of n-grams of words, and ``model_`` the model of these.

    See Also
    --------
    TextClassifier : The same for texts alone.
    BlockTransformer : Blocks of features of the columns of a table, for the linear models.

    Examples
    --------
    >>> import polars as pl
    >>> from dropglm import TableClassifier
    >>> table = pl.DataFrame({
    ...     "title": ["lovely film", "a great film", "dull film", "a boring film"] * 5,
    ...     "minutes": [90, 95, 170, 165] * 5,
    ...     "country": ["fr", "us", "fr", None] * 5,
    ... })
    >>> model = TableClassifier(text="title").fit(table, ["good", "good", "bad", "bad"] * 5)
    >>> print(model.columns_)
    text: title; numeric: minutes; categorical: country
    >>> model.predict([{"title": "a film", "minutes": 100, "country": "us"}])
    array(['good'], dtype='<U4')
    """

    text: str | Sequence[str] | None = None
    numeric: str | Sequence[str] | None = None
    categorical: str | Sequence[str] | None = None

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        X_unlabeled: Any = None,
        embeddings: Any = None,
        embeddings_unlabeled: Any = None,
        groups: Any = None,
        *,
        label_probabilities: Any = None,
        second_labels: Any = None,
    ) -> Self:
        """Find the columns, learn the vocabulary, tune the settings and fit the model.

        Parameters
        ----------
        X : data frame of polars, pandas or pyarrow, mapping of columns, or list of mappings
            The table, without the labels.
        y : as in TextClassifier
            Labels, or lists of labels; missing ones are unlabelled rows.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows with labels.
        X_unlabeled : like X, default=None
            More rows without labels, with the same columns.
        embeddings, embeddings_unlabeled, groups, label_probabilities, second_labels : as in TextClassifier
            Of the rows of X and X_unlabeled.

        Returns
        -------
        Self
            The estimator itself.
        """
        given = {kind: getattr(self, kind) for kind in KINDS}
        self._columns = columns = Columns.found_in(X, X_unlabeled, **given)
        return super().fit(
            columns.rows(X),
            y,
            sample_weight,
            None if X_unlabeled is None else columns.rows(X_unlabeled, "X_unlabeled"),
            embeddings,
            embeddings_unlabeled,
            groups,
            label_probabilities=label_probabilities,
            second_labels=second_labels,
        )

    @property
    def columns_(self) -> Columns:
        """The columns that are used, and why others are not."""
        found = self._fitted_model().table
        assert found is not None
        return found

    def _current_model(self) -> FittedTextModel:
        fitted = super()._current_model()
        fitted.settings = {name: value for name, value in fitted.settings.items() if name not in KINDS}
        return fitted

    @classmethod
    def _of(cls, fitted: FittedTextModel) -> Self:
        classifier = super()._of(fitted)
        if fitted.table is not None:
            classifier.set_params(**fitted.table.to_state())
            classifier._columns = fitted.table
        return classifier
