"""Every bad input raises an error with one sentence that says what is wrong."""

import numpy as np
import pytest
from scipy import sparse

from dropglm import LinearRegression, LogisticRegression, LogisticRegressionCV, PoissonRegressor

X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]])
Y = np.array([0, 1, 1, 0])
NAN, INFINITE = X.copy(), X.copy()
NAN[1, 1], INFINITE[2, 0] = np.nan, np.inf

EVERY = [LogisticRegression, LogisticRegressionCV, LinearRegression, PoissonRegressor]
CLASSIFIERS = EVERY[:2]

FITS = {
    "nan": (EVERY, {"X": NAN}, ValueError, "X contains NaN"),
    "nan in sparse": (EVERY, {"X": sparse.csr_array(NAN)}, ValueError, "X contains NaN"),
    "infinity": (EVERY, {"X": INFINITE}, ValueError, "X contains infinity"),
    "nan unlabelled": (EVERY, {"X_unlabeled": NAN}, ValueError, "X_unlabeled contains NaN"),
    "infinity unlabelled": (EVERY, {"X_unlabeled": INFINITE}, ValueError, "X_unlabeled contains infinity"),
    "empty": (EVERY, {"X": X[:0], "y": Y[:0]}, ValueError, "0 sample"),
    "no features": (EVERY, {"X": X[:, :0]}, ValueError, "0 feature"),
    "empty unlabelled": (EVERY, {"X_unlabeled": X[:0]}, ValueError, "X_unlabeled .* 0 sample"),
    "a row": (EVERY, {"X": X[0]}, ValueError, "Reshape your data"),
    "other columns": (EVERY, {"X_unlabeled": X[:, :1]}, ValueError, "X_unlabeled has 1 columns, but X has 2"),
    "no y": (EVERY, {"y": None}, ValueError, "requires y"),
    "short y": (EVERY, {"y": Y[:3]}, ValueError, "y has 3 entries, but X has 4 rows"),
    "one class": (CLASSIFIERS, {"y": [1, 1, 1, 1]}, ValueError, "only one class, .*1.*at least 2 classes"),
    "nan label": (CLASSIFIERS, {"y": [0, 1, np.nan, 0]}, ValueError, "y contains NaN.*X_unlabeled"),
    "numbers as labels": (CLASSIFIERS, {"y": [0.1, 1.2, 0.3, 0.5]}, ValueError, "Unknown label type"),
    "nan target": (EVERY[2:], {"y": [0, 1, np.nan, 0]}, ValueError, "y contains NaN"),
    "infinite target": (EVERY[2:], {"y": [0, 1, np.inf, 0]}, ValueError, "y contains infinity"),
    "negative count": (
        [PoissonRegressor],
        {"y": [0, 2, -1, 3]},
        ValueError,
        "must contain counts, but row 2 is negative",
    ),
    "no count": ([PoissonRegressor], {"y": [0, 0, 0, 0]}, ValueError, "y is 0 in every row"),
    "short weights": (EVERY, {"sample_weight": [1.0, 1.0]}, ValueError, "sample_weight has shape .* 4 rows"),
    "negative weight": (
        EVERY,
        {"sample_weight": [1, -1, 1, 1]},
        ValueError,
        "must not be negative, but that of row 1 is",
    ),
    "no weight": (EVERY, {"sample_weight": [0, 0, 0, 0]}, ValueError, "zero in every row"),
    "weight of one class": (
        CLASSIFIERS,
        {"sample_weight": [1, 0, 0, 1]},
        ValueError,
        "All rows of class 1 have a sample_weight of 0",
    ),
    "weights of nothing": (EVERY, {"unlabeled_weight": [1.0]}, ValueError, "without X_unlabeled"),
    "short unlabelled weights": (
        EVERY,
        {"X_unlabeled": X, "unlabeled_weight": [1.0]},
        ValueError,
        "unlabeled_weight has shape .* X_unlabeled has 4 rows",
    ),
}

SETTINGS = {
    "dropout of one": (EVERY, {"dropout": 1.0}, ValueError, r"dropout must be in \[0, 1\), got 1.0"),
    "negative dropout": (EVERY, {"dropout": -0.1}, ValueError, r"dropout must be in \[0, 1\)"),
    "dropout of nan": (EVERY, {"dropout": np.nan}, ValueError, r"dropout must be in \[0, 1\)"),
    "word for dropout": (EVERY, {"dropout": "half"}, TypeError, "dropout must be a number, got 'half'"),
    "negative noise": (EVERY, {"noise_std": -1.0}, ValueError, "noise_std must be finite and not negative"),
    "negative l2": (EVERY, {"l2": -1.0}, ValueError, "l2 must be finite and not negative, got -1.0"),
    "several l2": (
        [LogisticRegression, *EVERY[2:]],
        {"l2": [1.0, 2.0]},
        TypeError,
        r"l2 must be a number, got \[1.0, 2.0\]",
    ),
    "infinite l2": (EVERY, {"l2": np.inf}, ValueError, "l2 must be finite"),
    "word for l2": (EVERY, {"l2": "strong"}, TypeError, "l2 must be a number, got 'strong'"),
    "negative discount": (EVERY, {"discount": -0.1}, ValueError, "discount must be finite and not negative"),
    "negative tol": (EVERY, {"tol": -1.0}, ValueError, "tol must be finite and not negative"),
    "no iterations": (EVERY, {"max_iter": 0}, ValueError, "max_iter must be at least 1"),
    "half an iteration": (EVERY, {"max_iter": 1.5}, TypeError, "max_iter must be an integer"),
    "unknown expectation": (EVERY, {"expectation": "gausian"}, ValueError, "did you mean 'gaussian'"),
    "unknown l2_weights": (
        EVERY,
        {"l2_weights": "unifrm"},
        ValueError,
        "l2_weights 'unifrm' .* did you mean 'uniform'",
    ),
    "bayes without classes": (
        EVERY[2:],
        {"l2_weights": "naive_bayes"},
        ValueError,
        "l2_weights='naive_bayes' is for classifiers; use 'uniform' or an array",
    ),
    "short l2_weights": (
        EVERY,
        {"l2_weights": [1.0]},
        ValueError,
        r"l2_weights has shape \(1,\), but X has 2 columns",
    ),
    "negative l2_weights": (
        EVERY,
        {"l2_weights": [1.0, -1.0]},
        ValueError,
        "l2_weights must not be negative, but that of feature 1 is",
    ),
    "no l2_weights": (EVERY, {"l2_weights": None}, TypeError, "l2_weights must be a name, an array or a"),
    "list of class weights": (
        CLASSIFIERS,
        {"class_weight": [1, 2]},
        ValueError,
        "class_weight must be a dict",
    ),
    "no threads": (EVERY, {"n_jobs": 0}, ValueError, "n_jobs must not be 0"),
    "word for intercept": (EVERY, {"fit_intercept": "yes"}, TypeError, "fit_intercept must be True or False"),
    "unknown way": (CLASSIFIERS, {"multi_class": "ovo"}, ValueError, "multi_class 'ovo' is unknown"),
    "unknown class_weight": (
        CLASSIFIERS,
        {"class_weight": "even"},
        ValueError,
        "class_weight must be .*got 'even'",
    ),
    "no values": ([LogisticRegressionCV], {"l2": []}, ValueError, "l2 is an empty grid"),
    "one bad value": ([LogisticRegressionCV], {"l2": [1.0, -2.0]}, ValueError, "l2 must be .* got -2.0"),
    "no folds": ([LogisticRegressionCV], {"cv": 1}, ValueError, "n_splits=1"),
    "unknown scorer": (
        [LogisticRegressionCV],
        {"scoring": "acuracy"},
        ValueError,
        "^scoring 'acuracy' is unknown; did you mean 'accuracy'[?] Known: 'accuracy', 'average_precision', ",
    ),
    "abbreviated scorer": (
        [LogisticRegressionCV],
        {"scoring": "acc"},
        ValueError,
        "^scoring 'acc' is unknown; did you mean 'accuracy'[?]",
    ),
    "word for rule": (
        [LogisticRegressionCV],
        {"one_standard_error": 1},
        TypeError,
        "one_standard_error must be",
    ),
}


def cases(table):
    return [
        pytest.param(estimator, *case, id=f"{name} {estimator.__name__}")
        for name, (estimators, *case) in table.items()
        for estimator in estimators
    ]


def complaint(error, action):
    with pytest.raises(error) as caught:
        action()
    assert type(caught.value) is error or isinstance(caught.value, ValueError)
    return str(caught.value)


@pytest.mark.parametrize(("estimator", "given", "error", "words"), cases(FITS))
def test_bad_rows(estimator, given, error, words):
    quick = {"cv": 2} if estimator is LogisticRegressionCV else {}
    with pytest.raises(error, match=words) as caught:
        estimator(**quick).fit(**({"X": X, "y": Y} | given))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("estimator", "settings", "error", "words"), cases(SETTINGS))
def test_bad_settings(estimator, settings, error, words):
    quick = {"cv": 2} if estimator is LogisticRegressionCV else {}
    with pytest.raises(error, match=words):
        estimator(**quick | settings).fit(X, Y)


def test_errors_about_unavailable_combinations_name_alternatives():
    three = np.array([0, 1, 2, 0])
    with pytest.raises(
        ValueError,
        match="'exact' is not available for the multinomial family; use one of 'monte_carlo', 'quadratic'",
    ):
        LogisticRegression(expectation="exact", multi_class="multinomial").fit(X, three)
    with pytest.raises(
        ValueError, match="Naive-Bayes l2_weights need non-negative features; use l2_weights='uniform'"
    ):
        LogisticRegression(l2_weights="naive_bayes").fit(X - 1, Y)


@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_naive_bayes_weights_reject_negative_features_in_the_rows_they_count(estimator):
    quick = {"cv": 2} if estimator is LogisticRegressionCV else {}
    estimator(**quick, l2_weights="naive_bayes").fit(X, Y, X_unlabeled=X - 1)  # it counts labelled rows alone
    with pytest.raises(ValueError, match="need non-negative features; use l2_weights='uniform'"):
        estimator(**quick, l2_weights="naive_bayes_unlabeled").fit(X, Y, X_unlabeled=X - 1)


def test_predicting_other_features():
    model = LogisticRegression().fit(X, Y)
    with pytest.raises(ValueError, match="X has 1 features, but LogisticRegression is expecting 2"):
        model.predict(X[:, :1])
    with pytest.raises(ValueError, match="X contains NaN"):
        model.predict_proba(NAN)


def test_a_fold_without_a_class_is_an_error():
    rows, labels = np.tile(X, (3, 1)), np.array([0, 1] * 5 + [1, 2])
    fold = [(np.arange(10), np.arange(10, 12))]
    with pytest.raises(ValueError, match=r"Split 0 has no row of class .*2.* to train on"):
        LogisticRegressionCV(cv=fold).fit(rows, labels)
