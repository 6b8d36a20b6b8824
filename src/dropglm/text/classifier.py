"""Texts with labels, and texts without, to a model that explains itself."""

from collections.abc import Iterable
from typing import Any, ClassVar, Self

import numpy as np

from dropglm import checks
from dropglm.estimators import LogisticRegression, LogisticRegressionCV
from dropglm.text.chunks import listed
from dropglm.text.model import TextModel
from dropglm.text.rows import row_range
from dropglm.text.saving import restored_model, restored_vectorizer, state_of
from dropglm.text.summary import Summary, summarised
from dropglm.text.tokens import WORDS_AND_PUNCTUATION
from dropglm.text.vectorizer import NgramVectorizer

# What is tried where the user gives no value: 16 points, or 4 where each costs a fit for many classes.
GRID: dict[str, Any] = {
    "dropout": (0.8, 0.5),
    "l2": (10.0, 3.0, 1.0, 0.3),
    "l2_weights": "auto",
    "discount": 0.2,
}
SMALL_GRID: dict[str, Any] = GRID | {"dropout": 0.5, "l2": (3.0, 1.0)}
MANY_CLASSES = 10


class TextClassifier(TextModel):
    """Logistic regression with dropout on the n-grams of texts, which tunes itself and explains itself.

    Parameters
    ----------
    ngram_range, min_df, max_df, max_features, lowercase, token_pattern, strip_html
        As for ``NgramVectorizer``; texts without labels count for ``min_df`` and ``max_df`` too.
    tune : bool
        Choose what is None below by cross-validation, on a small grid. If False, it is what
        ``LogisticRegression`` takes.
    dropout, l2, discount, l2_weights : optional
        As for ``LogisticRegression``, or several values to choose from as for ``LogisticRegressionCV``.
    expectation, class_weight, max_iter, random_state
        As for ``LogisticRegression``.
    tol : float
        As for ``LogisticRegression``, but larger: labels need no more digits.
    cv, scoring
        As for ``LogisticRegressionCV``. A number of folds becomes that of the smallest class's texts if that
        is smaller.
    n_jobs : int, optional
        Threads; None is 1, -1 all cores.
    verbose : int
        Show progress bars unless 0.

    Attributes
    ----------
    classes_ : array
        The labels.
    vectorizer_ : NgramVectorizer
        What turns texts into features.
    model_ : LogisticRegression
        What turns features into labels.
    search_ : LogisticRegressionCV
        How the model was chosen, if it was.
    summary_ : Summary
        What was learnt from how much, what was chosen, and how sure cross-validation is; print it.

    Examples
    --------
    >>> from dropglm import TextClassifier
    >>> good = ["a lovely film", "great fun and a great cast", "lovely music, great story", "fun for all"]
    >>> bad = ["a dull film", "boring and long", "dull story, boring cast", "long and dull", "no fun"]
    >>> model = TextClassifier(ngram_range=(1, 1), min_df=1, tune=False, l2=0.1)
    >>> y, more = ["good"] * 4 + ["bad"] * 5, ["lovely cast", "a great story"]
    >>> model = model.fit(good + bad, y, X_unlabeled=more)
    >>> model.predict(["a lovely story"])
    array(['good'], dtype='<U4')
    >>> print(model.explain("a lovely story, truly"))
    good, probability 0.76
      good  lovely  +1.24
      good  a       +0.47
      good  story   +0.04
      good  ,       +0.03
    unknown: truly
    """

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"X_unlabeled": True}

    def __init__(
        self,
        ngram_range: tuple[int, int] = (1, 2),
        min_df: float = 2,
        max_df: float = 1.0,
        max_features: int | None = None,
        *,
        lowercase: bool = True,
        token_pattern: str = WORDS_AND_PUNCTUATION,
        strip_html: bool = True,
        tune: bool = True,
        dropout: Any = None,
        l2: Any = None,
        discount: Any = None,
        l2_weights: Any = None,
        expectation: str = "gaussian",
        class_weight: Any = None,
        cv: Any = 5,
        scoring: Any = "accuracy",
        tol: float = 1e-3,
        max_iter: int = 200,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.ngram_range = ngram_range
        self.min_df = min_df
        self.max_df = max_df
        self.max_features = max_features
        self.lowercase = lowercase
        self.token_pattern = token_pattern
        self.strip_html = strip_html
        self.tune = tune
        self.dropout = dropout
        self.l2 = l2
        self.discount = discount
        self.l2_weights = l2_weights
        self.expectation = expectation
        self.class_weight = class_weight
        self.cv = cv
        self.scoring = scoring
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Iterable[str],
        y: Any,
        sample_weight: Any = None,
        X_unlabeled: Iterable[str] | None = None,
    ) -> Self:
        """Learn n-grams, settings and coefficients.

        Parameters
        ----------
        X : iterable of str
            Texts with labels.
        y : array-like of shape (n,)
            Labels of any type.
        sample_weight : array-like of shape (n,), optional
            Weights of the texts with labels.
        X_unlabeled : iterable of str, optional
            Texts without labels.

        Returns
        -------
        self
        """
        if not isinstance(self.tune, (bool, np.bool_)):
            raise TypeError(f"tune must be True or False, got {self.tune!r}.")
        labeled, more = listed(X), listed([] if X_unlabeled is None else X_unlabeled, "X_unlabeled")
        y = _labels(y, len(labeled))
        estimator = self._estimator(y)
        vectorizer = NgramVectorizer(**self._shared(NgramVectorizer))
        features = vectorizer.fit_transform([*labeled, *more])
        n = len(labeled)
        rows = {"X_unlabeled": row_range(features, n, n + len(more))} if more else {}
        estimator.fit(row_range(features, 0, n), y, sample_weight=sample_weight, **rows)
        searched = isinstance(estimator, LogisticRegressionCV)
        if searched:
            self.search_ = estimator
        elif hasattr(self, "search_"):
            del self.search_
        self.vectorizer_ = vectorizer
        self.model_ = estimator.best_estimator_ if searched else estimator
        self.classes_ = estimator.classes_
        self.summary_ = summarised(self.model_, estimator if searched else None, features, y, len(more))
        return self

    def _estimator(self, y: np.ndarray) -> LogisticRegression | LogisticRegressionCV:
        """The model to fit: one with a search if there is anything to choose."""
        given = {name: getattr(self, name) for name in GRID if getattr(self, name) is not None}
        several = any(np.iterable(value) and not isinstance(value, str) for value in given.values())
        if not several and (len(given) == len(GRID) or not self.tune):
            settings = self._shared(LogisticRegression)
            return LogisticRegression(
                **{name: value for name, value in settings.items() if name not in GRID} | given
            )
        settings = self._shared(LogisticRegressionCV)
        grid = SMALL_GRID if len(set(y.tolist())) > MANY_CLASSES else GRID
        if not self.tune:
            grid = {name: LogisticRegression().get_params()[name] for name in GRID}
        return LogisticRegressionCV(**settings | grid | given | {"cv": self._folds(y)})

    def _folds(self, y: np.ndarray) -> Any:
        """The folds; not more than the smallest class has texts."""
        if not isinstance(self.cv, (int, np.integer)) or isinstance(self.cv, bool):
            return self.cv
        classes, counts = np.unique(y, return_counts=True)
        if counts.min() < 2:
            raise ValueError(
                f"Class {classes[counts.argmin()]!s} has one text only, too few to cross-validate; give more "
                "of them, or do not tune (tune=False, --no-tune)."
            )
        return int(min(self.cv, counts.min()))

    def to_state(self) -> dict[str, Any]:
        """What is needed to predict and to explain; ``search_`` and the history of the fit are not kept."""
        return state_of(self)

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """The model with what was fitted, if all of it fits together."""
        model = cls(**state["settings"])
        model.vectorizer_ = restored_vectorizer(state, model._shared(NgramVectorizer))
        model.model_ = restored_model(state, len(model.vectorizer_.ngrams_))
        model.classes_ = model.model_.classes_
        model.summary_ = Summary(**state["summary"])
        model.summary_.lines()
        return model


def _labels(y: Any, n: int) -> np.ndarray:
    y = np.asarray(y if hasattr(y, "__len__") or y is None else list(y))
    if y.shape != (n,):
        raise ValueError(f"y has shape {y.shape}, but there are {n} texts with labels.")
    missing = checks.missing(y)
    if missing is not None:
        raise ValueError(
            f"Text {missing} (counted from 0) has no label; give texts without labels as X_unlabeled."
        )
    if y.dtype.kind == "f" and (y != np.floor(y)).any():
        broken = float(y[y != np.floor(y)][0])
        raise ValueError(f"y has numbers with fractions, such as {broken}; give classes as strings.")
    return y
