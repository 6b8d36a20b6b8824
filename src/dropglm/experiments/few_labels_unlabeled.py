"""Rivals that learn from unlabelled texts: self-training, latent semantic analysis and EM naive Bayes.

Their features are fitted to all texts, labelled or not, as users with unlabelled texts would do. All settings
are chosen by cross-validation on the labelled texts.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression as SklearnLogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.semi_supervised import SelfTrainingClassifier

from dropglm.baselines import EMNaiveBayes
from dropglm.text.comparison import stratified_folds, tfidf_baseline

Rows = Any  # a dense or sparse matrix
WITHOUT_LABEL = -1
MIN_DF = 2  # texts; words that occur in one text only link it to no other
TFIDF: dict[str, Any] = {"sublinear_tf": True, "min_df": MIN_DF}


class OnAllTexts:
    """A text classifier whose features are fitted to all texts.

    Parameters
    ----------
    features : transformer
        Takes texts and returns rows.
    fit_rows : callable
        Takes the labelled rows, their class numbers and the unlabelled rows, and returns a fitted classifier.
    """

    def __init__(self, features: Any, fit_rows: Callable[[Rows, np.ndarray, Rows], Any]) -> None:
        self.features = features
        self.fit_rows = fit_rows

    def fit(self, texts: Sequence[str], y: np.ndarray, X_unlabeled: Sequence[str]) -> Self:
        """Fit the features to all texts, then the classifier."""
        self.classes_, numbers = np.unique(y, return_inverse=True)
        rows = self.features.fit_transform([*texts, *X_unlabeled])
        self.model_ = self.fit_rows(rows[: len(texts)], numbers, rows[len(texts) :])
        return self

    def predict_proba(self, texts: Sequence[str]) -> np.ndarray:
        """Return the probability of each class; (n, K)."""
        return self.model_.predict_proba(self.features.transform(texts))


def self_training(
    y: np.ndarray, seed: int, *, Cs: int, threshold: float, components: int | None = None
) -> OnAllTexts:
    """Return logistic regression on tf-idf or LSA that adds its own confident predictions to the labels."""
    features = TfidfVectorizer(**TFIDF) if components is None else _lsa_features(components, seed)
    return OnAllTexts(features, partial(_train_itself, seed=seed, Cs=Cs, threshold=threshold))


def lsa(y: np.ndarray, seed: int, *, Cs: int, components: int) -> OnAllTexts:
    """Return logistic regression on latent semantic analysis of the tf-idf of all texts."""
    return OnAllTexts(_lsa_features(components, seed), lambda X, y, U: _logistic_cv(y, seed, Cs).fit(X, y))


def em_naive_bayes(
    y: np.ndarray, seed: int, *, alpha: Sequence[float], discount: Sequence[float], tfidf: bool, tol: float
) -> OnAllTexts:
    """Return EM naive Bayes on word counts or tf-idf, with alpha and the weight of unlabelled texts tuned."""
    words = TfidfVectorizer(**TFIDF) if tfidf else CountVectorizer(min_df=MIN_DF)
    grid = [EMNaiveBayes(*settings, tol=tol) for settings in product(alpha, discount)]
    return OnAllTexts(words, partial(_tune_em, seed=seed, grid=grid))


def _lsa_features(components: int, seed: int) -> Any:
    """Return the rows' shares in the first singular vectors, as rows of length 1."""
    return make_pipeline(
        TfidfVectorizer(**TFIDF), TruncatedSVD(components, random_state=seed), Normalizer(copy=False)
    )


def _logistic_cv(y: np.ndarray, seed: int, Cs: int) -> Any:
    return tfidf_baseline(y, Cs=Cs, random_state=seed)[-1]


def _train_itself(X: Rows, y: np.ndarray, U: Rows, *, seed: int, Cs: int, threshold: float) -> Any:
    """Fit self-training with the C that cross-validation on the labelled rows chooses."""
    C = float(np.ravel(_logistic_cv(y, seed, Cs).fit(X, y).C_)[0])
    model = SelfTrainingClassifier(SklearnLogisticRegression(C=C, max_iter=1000), threshold=threshold)
    rows = sparse.vstack([X, U], format="csr") if sparse.issparse(X) else np.vstack([X, U])
    return model.fit(rows, np.concatenate([y, np.full(U.shape[0], WITHOUT_LABEL)]))


def _tune_em(X: Rows, y: np.ndarray, U: Rows, *, seed: int, grid: Sequence[EMNaiveBayes]) -> EMNaiveBayes:
    """Fit EM naive Bayes with the most accurate settings; of equal ones the first is chosen."""
    folds = list(stratified_folds(y, seed).split(X, y))

    def correct(model: EMNaiveBayes) -> int:
        """Return the number of held-out rows that are predicted correctly."""
        fits = ((model.fit(X[rows], y[rows], X_unlabeled=U), test) for rows, test in folds)
        return sum(int(np.sum(fitted.predict(X[test]) == y[test])) for fitted, test in fits)

    return max(grid, key=correct).fit(X, y, X_unlabeled=U)
