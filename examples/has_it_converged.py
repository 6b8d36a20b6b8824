"""
Has the fit converged?
======================

A fit that stops too early gives a ``ConvergenceWarning`` with numbers. ``ConvergenceDisplay`` shows the
history of any fit: the objective above its final value, and the gradient against the tolerance.
"""

import warnings

import matplotlib.pyplot as plt
from sklearn.exceptions import ConvergenceWarning

from dropglm import LogisticRegression, NgramVectorizer, load_dataset
from dropglm.plots import ConvergenceDisplay

data = load_dataset("docstrings", n_labeled=1000)
X = NgramVectorizer(min_df=2).fit_transform(data.texts)
y = data.y == "polars"

# %%
# With the default settings, some dozens of iterations are enough.
model = LogisticRegression().fit(X, y)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
ConvergenceDisplay.from_estimator(model, ax=axes)
print(model.result_.status, model.n_iter_)

# %%
# Rows with more features than rows can be separated, and then a plain model without any penalty has no
# minimum: coefficients grow until the iterations run out. The warning says what to change.
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", ConvergenceWarning)
    unbounded = LogisticRegression(dropout=0.0, l2=0.0, max_iter=60).fit(X, y)
print(caught[0].message)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
ConvergenceDisplay.from_estimator(unbounded, ax=axes)
