"""The methods that the paper compares dropout training with, as scikit-learn estimators.

Plain multinomial naive Bayes and plain logistic regression are scikit-learn's own.
"""

from dropglm.baselines.em_naive_bayes import EMNaiveBayes
from dropglm.baselines.entropy_regularization import EntropyRegularizedLogisticRegression
from dropglm.baselines.nbsvm import NBSVM
from dropglm.baselines.semi_supervised_naive_bayes import SemiSupervisedNaiveBayes

__all__ = ["NBSVM", "EMNaiveBayes", "EntropyRegularizedLogisticRegression", "SemiSupervisedNaiveBayes"]
