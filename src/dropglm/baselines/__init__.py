"""The methods that the paper compares dropout training with, as scikit-learn estimators.

Plain multinomial naive Bayes and plain logistic regression are scikit-learn's own.
"""

from dropglm.baselines.entropy_regularization import EntropyRegularizedLogisticRegression
from dropglm.baselines.naive_bayes import EMNaiveBayes, SemiSupervisedNaiveBayes
from dropglm.baselines.nbsvm import NBSVM
from dropglm.baselines.sentiment_vectors import SentimentVectors
from dropglm.baselines.transductive_svm import TransductiveSVM

__all__ = [
    "NBSVM",
    "EMNaiveBayes",
    "EntropyRegularizedLogisticRegression",
    "SemiSupervisedNaiveBayes",
    "SentimentVectors",
    "TransductiveSVM",
]
