"""The rivals of the paper's tables, as scikit-learn estimators.

Plain multinomial naive Bayes and plain logistic regression are scikit-learn's own.
"""

from dropglm.baselines.em_naive_bayes import EMNaiveBayes
from dropglm.baselines.entropy_regularized import EntropyRegularizedLogisticRegression
from dropglm.baselines.nbsvm import NBSVM
from dropglm.baselines.semi_supervised_naive_bayes import SemiSupervisedNaiveBayes

__all__ = ["NBSVM", "EMNaiveBayes", "EntropyRegularizedLogisticRegression", "SemiSupervisedNaiveBayes"]
