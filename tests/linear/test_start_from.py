"""OnlineLogisticRegression.start_from: online learning that continues from a fitted model."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dropglm import LogisticRegression, OnlineLogisticRegression


def test_start_from_keeps_the_probabilities_of_a_one_versus_rest_model(rng):
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 3
    single = LogisticRegression(dropout=0.0, l2=1.0, multi_class="ovr").fit(X, y)
    model = OnlineLogisticRegression().start_from(single)
    assert_allclose(model.predict_proba(X), single.predict_proba(X), rtol=1e-6)
    with pytest.raises(TypeError, match="must be a LogisticRegression"):
        model.hand_over(OnlineLogisticRegression())


def test_start_from_keeps_the_classes_that_a_multinomial_model_predicts(rng):
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 3
    joint = LogisticRegression(dropout=0.0, l2=1.0).fit(X, y)
    assert joint.multi_class_ == "multinomial"
    model = OnlineLogisticRegression().start_from(joint)
    assert_array_equal(model.predict(X), joint.predict(X))
    assert_allclose(model.predict_proba(X), joint.predict_proba(X), atol=0.05)
    # The same constant for every class changes a multinomial model's predictors, but not its probabilities.
    joint.coef_, joint.intercept_ = joint.coef_ + rng.normal(size=4), joint.intercept_ + 5.0
    assert_allclose(OnlineLogisticRegression().start_from(joint).predict_proba(X), model.predict_proba(X))
    # Where all other classes are equally probable, the log odds of a class are exact.
    joint.coef_ = np.outer([1.0, 0.0, 0.0], rng.normal(size=4))
    joint.intercept_ = np.array([3.0, 2.0, 2.0])
    model = OnlineLogisticRegression().start_from(joint)
    p = joint.predict_proba(X)[:, 0]
    assert_allclose(model.decision_function(X)[:, 0], np.log(p / (1.0 - p)), rtol=1e-6)
