"""
What does the dropout penalty look like?
========================================

Dropping features at random and averaging the loss over all ways to do so is the same as adding a penalty.
``noising_penalty`` returns it. We draw it for a model of one row with two features.
"""

import matplotlib.pyplot as plt
import numpy as np

from dropglm import noising_penalty
from dropglm.plots import PenaltyCurvesDisplay

x = np.array([[1.0, 1.0]])
grid = np.linspace(-4, 4, 61)


def surface(**settings):
    return np.array([[noising_penalty([a, b], x, **settings) for a in grid] for b in grid])


# %%
# An L2 penalty grows in all directions. The dropout penalty is small along the diagonal where both features
# say the same: there the prediction is confident, and losing one of them does not change it. It is large
# where they contradict each other.
panels = {
    "½‖β‖²": 0.5 * (grid[:, None] ** 2 + grid**2),
    "dropout 0.5, exact": surface(dropout=0.5, expectation="exact"),
    "dropout 0.5, quadratic": surface(dropout=0.5, expectation="quadratic"),
}
figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained", sharey=True)
for (title, values), ax in zip(panels.items(), axes, strict=True):
    contours = ax.contour(grid, grid, values, levels=10)
    ax.clabel(contours, fontsize=7)
    ax.set(title=title, xlabel="β₁", aspect="equal")
axes[0].set_ylabel("β₂")

# %%
# The quadratic expansion of the paper vanishes for confident predictions, which is why the gaussian form is
# the default here. For one row with Gaussian noise of standard deviation σ on its predictor
# (:doc:`/paper/figure-1a`):
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
PenaltyCurvesDisplay.from_probabilities(ax=ax)
