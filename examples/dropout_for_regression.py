"""
Should I use dropout for counts and other regressions?
======================================================

Mostly not. Dropout leaves the ranking of classes alone, but it shrinks the predictions of a regression
towards the mean however many rows there are. That is why it is off by default in ``LinearRegression`` and
``PoissonRegressor``; use ``l2``, and dropout only if features will be missing when you predict.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import mean_poisson_deviance

from dropglm import PoissonRegressor

# %%
# Counts that depend on 30 of 300 sparse features.
rng = np.random.default_rng(0)
X = (rng.random((1600, 300)) < 0.05).astype(float)
beta = np.where(np.arange(300) < 30, rng.normal(0, 1, 300), 0.0)
y = rng.poisson(np.exp(0.5 + X @ beta))
train, test = slice(0, 600), slice(600, 1600)

# %%
# The mean deviance of new rows; smaller is better. The dashed line is a model that always predicts the
# mean.
strengths = np.array([0.0, 0.02, 0.05, 0.1, 0.2])
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for l2 in (1e-6, 1.0, 3.0, 10.0):
    fits = [PoissonRegressor(dropout=dropout, l2=l2).fit(X[train], y[train]) for dropout in strengths]
    deviances = [mean_poisson_deviance(y[test], model.predict(X[test])) for model in fits]
    ax.plot(strengths, deviances, "o-", label=f"l2 = {l2:g}")
    best = int(np.argmin(deviances))
    print(f"l2 {l2:<6g} best dropout {strengths[best]:.2f}, deviance {deviances[best]:.3f}")
ax.axhline(mean_poisson_deviance(y[test], np.full(1000, y[train].mean())), color="grey", linestyle="--")
ax.set(xlabel="dropout", ylabel="mean Poisson deviance of new rows")
ax.legend()

# %%
# The reason: the slope of the counts against the predictions should be 1.
figure, ax = plt.subplots(figsize=(5, 4.5), layout="constrained")
for dropout in (0.0, 0.1):
    predicted = PoissonRegressor(dropout=dropout, l2=3.0).fit(X[train], y[train]).predict(X[test])
    bins = np.array_split(np.argsort(predicted), 10)
    ax.plot(
        [predicted[rows].mean() for rows in bins],
        [y[test][rows].mean() for rows in bins],
        "o-",
        label=f"dropout {dropout}",
    )
ends = [0.5, 15.0]
ax.plot(ends, ends, color="grey", linestyle="--")
ax.set(xscale="log", yscale="log", xlabel="predicted count", ylabel="mean count")
ax.legend()
