import numpy as np
from numpy.testing import assert_allclose

from dropglm.datasets.simulation import SIGNAL, simulated


def test_useful_features_are_rare_with_one_sign_and_unit_second_moment(rng):
    groups = rng.integers(25, size=50_000)
    X, y = simulated(groups, rng)
    useful = X[:, :50]
    assert X.shape == (50_000, 1050)
    assert_allclose((useful != 0).mean(axis=0), 0.04, atol=0.004)
    assert_allclose((useful**2).mean(), 1.0, rtol=0.03)
    assert_allclose((X[:, 50:] ** 2).mean(), 1.0, rtol=0.01)
    active = groups < 5
    assert np.all((useful != 0).sum(axis=1) == np.where(active, 10, 0))
    assert np.all(np.abs(np.sign(useful).sum(axis=1)) == np.where(active, 10, 0))
    p = 1 / (1 + np.exp(-SIGNAL * useful.sum(axis=1)))
    assert_allclose(y[active].mean(), p[active].mean(), atol=0.02)
    assert abs(np.mean(y - p)) < 0.01
    # The labels depend on the useful features: compare P(y = 1) where their sum is positive and negative.
    for side in (1, -1):
        rows = np.sign(useful.sum(axis=1)) == side
        assert_allclose(y[rows].mean(), p[rows].mean(), atol=0.02)
        assert side * (p[rows].mean() - 0.5) > 0.2
