"""Multinomial naive Bayes with the semi-supervised frequency estimate.

    P(w | c) ∝ P(c | w) P(w),      P(c | w) = (N_cw + α) / (N_w + K α) from the labelled rows,
                                   P(w) ∝ M_w + K α from all rows, labelled or not,

N_cw being the count of word w in class c, N_w its sum over the K classes, and M_w the count in all rows.
"""

from typing import Any, Self

import numpy as np

from dropglm.baselines.naive_bayes import NaiveBayes, sums


class SemiSupervisedNaiveBayes(NaiveBayes):
    """Multinomial naive Bayes with the semi-supervised frequency estimate.

    Labelled rows tell which class a word speaks for, all rows tell how frequent it is: P(w | c) is the
    product P(c | w) P(w), scaled to sum to 1 over the words. Without unlabelled rows M_w = N_w, the product
    is N_cw + α, and the model is scikit-learn's MultinomialNB of the same alpha. Words that only unlabelled
    rows have speak for no class. The class frequencies P(c) are those of the labelled rows.

    Parameters
    ----------
    alpha : float > 0
        Added to the count of every word in every class. The smoothing is ours, the estimate the reference's.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    class_log_prior_ : ndarray of shape (K,)
        log P(c).
    feature_log_prob_ : ndarray of shape (K, d)
        log P(w | c).
    coef_, intercept_ : ndarrays
        The same as a linear model; for two classes the differences, second less first.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    References
    ----------
    Su, Shirab and Matwin, "Large scale text classification using semi-supervised multinomial naive Bayes",
    ICML 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from dropglm.baselines import SemiSupervisedNaiveBayes
    >>> X = np.array([[2, 0, 1], [0, 1, 1]])
    >>> model = SemiSupervisedNaiveBayes().fit(X, ["good", "bad"])
    >>> model.predict_proba([[1, 0, 0]]).round(3)
    array([[0.286, 0.714]])
    >>> model.fit(X, ["good", "bad"], X_unlabeled=[[0, 5, 1], [0, 4, 1]]).predict_proba([[1, 0, 0]]).round(3)
    array([[0.217, 0.783]])
    """

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = alpha

    def fit(self, X: Any, y: Any, X_unlabeled: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse of shape (n, d)
            Counts, or ones for words that are there.
        y : array-like of shape (n,)
            Labels of any type.
        X_unlabeled : array-like or sparse of shape (m, d), optional
            Rows without labels.

        Returns
        -------
        self
        """
        known = self._counted(X, y, X_unlabeled)
        labeled, K = known.words.sum(axis=0), len(known.classes)
        frequency = labeled + K * self.alpha
        if known.X_unlabeled is not None:
            frequency = frequency + sums(known.X_unlabeled, np.ones((known.X_unlabeled.shape[0], 1)))[0]
        joint = (known.words + self.alpha) / (labeled + K * self.alpha) * frequency
        feature_log_prob = np.log(joint) - np.log(joint.sum(axis=1, keepdims=True))
        self._keep(known.classes, np.log(known.rows / known.rows.sum()), feature_log_prob)
        return self
