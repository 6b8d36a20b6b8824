"""
Can I trust the probabilities?
==============================

A probability of 0.9 should be right nine times out of ten. ``TextClassifier`` scales its predictors so that
this holds for held-out texts (``calibrate=True``, the default). We compare it with the same model without
this step.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import log_loss

from dropglm import TextClassifier, load_dataset

data = load_dataset("docstrings", n_labeled=300, n_test=1500)
models = {
    "calibrated": TextClassifier(n_jobs=-1),
    "not calibrated": TextClassifier(calibrate=False, naive_bayes=False, n_jobs=-1),
}

# %%
# The share of correct predictions against the predicted probability, in bins with the same number of test
# texts. Points above the line are predictions that are better than the model claims.
figure, ax = plt.subplots(figsize=(5.5, 4.5), layout="constrained")
ax.plot([0, 1], [0, 1], color="grey", linestyle="--")
for name, model in models.items():
    probabilities = model.fit(data.texts, data.y).predict_proba(data.texts_test)
    best = probabilities.max(axis=1)
    right = model.classes_[probabilities.argmax(axis=1)] == data.y_test
    bins = np.array_split(np.argsort(best), 8)
    ax.plot([best[rows].mean() for rows in bins], [right[rows].mean() for rows in bins], "o-", label=name)
    error = sum(abs(best[rows].mean() - right[rows].mean()) * len(rows) for rows in bins) / len(best)
    print(
        f"{name:<15} accuracy {right.mean():.3f}, log loss {log_loss(data.y_test, probabilities):.3f}, "
        f"calibration error {error:.3f}"
    )
ax.set(xlabel="predicted probability", ylabel="share of correct predictions", xlim=(0.2, 1), ylim=(0.2, 1))
ax.legend()
