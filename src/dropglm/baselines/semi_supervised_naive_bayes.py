"""Multinomial naive Bayes with the semi-supervised frequency estimate.

    P(w | c) ∝ P(c | w) P(w),      P(c | w) = (N_cw + α) / (N_w + K α) from the labelled rows,
                                   P(w) ∝ M_w + K α from all rows, labelled or not,

where N_cw is the count of word w in class c, N_w its sum over the K classes, and M_w the count in all rows.
"""

from typing import Any, Self

import numpy as np

from dropglm.baselines.naive_bayes import NaiveBayes, sums


class SemiSupervisedNaiveBayes(NaiveBayes):
    """Multinomial naive Bayes with the semi-supervised frequency estimate.

    The labelled rows determine P(c | w), how strongly a word indicates each class; all rows determine its
    frequency P(w). P(w | c) is their product, normalised to sum to 1 over the words. Without unlabelled rows
    the product is N_cw + α, and the model is scikit-learn's MultinomialNB with the same ``alpha``. Words that
    occur in unlabelled rows only do not favour any class. The class frequencies P(c) are those of the
    labelled rows.

    Parameters
    ----------
    alpha : float, default=1.0
        Smoothing: added to the count of every word in every class; must be positive. The frequency estimate
        is that of the reference; the smoothing is ours.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_log_prior_ : ndarray of shape (n_classes,)
        log P(c).
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        log P(w | c).
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients of the linear model: log P(w | c), or log P(w | c₁) - log P(w | c₀) for two classes.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept of the linear model: log P(c), or the difference for two classes.
    n_features_in_ : int
        Number of features seen in :meth:`fit`.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, if X has names that are all strings.

    See Also
    --------
    EMNaiveBayes : Naive Bayes by expectation maximisation with unlabelled rows.
    sklearn.naive_bayes.MultinomialNB : The same model on labelled rows alone.

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

    def fit(self, X: Any, y: Any, sample_weight: Any = None, X_unlabeled: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Counts, or 1 for words that are present.
        y : array-like of shape (n_samples,)
            Labels of any type.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the labelled rows; a weight of 2 is equivalent to repeating the row.
        X_unlabeled : {array-like, sparse matrix} of shape (n_unlabeled, n_features), default=None
            Rows without labels.

        Returns
        -------
        SemiSupervisedNaiveBayes
            The fitted model.
        """
        counts = self._counted(X, y, sample_weight, X_unlabeled)
        labeled, K = counts.words.sum(axis=0), len(counts.classes)
        frequency = labeled + K * self.alpha
        if counts.X_unlabeled is not None:
            frequency = frequency + sums(counts.X_unlabeled, np.ones((counts.X_unlabeled.shape[0], 1)))[0]
        joint = (counts.words + self.alpha) / (labeled + K * self.alpha) * frequency
        feature_log_prob = np.log(joint) - np.log(joint.sum(axis=1, keepdims=True))
        self._store(counts.classes, np.log(counts.rows / counts.rows.sum()), feature_log_prob)
        return self
