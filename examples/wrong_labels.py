"""
Which of my labels are wrong?
=============================

Every table of labels has errors. Models that were trained without a text can disagree with its label;
``suspicious_labels`` lists the labels that are least plausible for their class. Here we exchange one label
in twenty and see how many of these are found.
"""

import matplotlib.pyplot as plt
import numpy as np

from dropglm import TextClassifier, load_dataset
from dropglm.text import suspicious_labels

data = load_dataset("docstrings", n_labeled=800)
rng = np.random.default_rng(0)
wrong = rng.choice(len(data.y), size=40, replace=False)
labels = data.y.copy()
for row in wrong:
    labels[row] = rng.choice([name for name in data.class_names if name != data.y[row]])

# %%
# ``cv_probabilities_`` has the probabilities of each text from models of the other folds.
model = TextClassifier(n_jobs=-1).fit(data.texts, labels)
found = suspicious_labels(data.texts, labels, model.cv_probabilities_, model.classes_, k=None)
for each in found[:3]:
    first_line = each.text.splitlines()[0][:50]
    print(f"row {each.row:>3}: {each.label:<8} {each.predicted:<8} {each.probability:.2f}  {first_line}")

# %%
# How many of the exchanged labels are among the first of the list? The dashed line is a reader without the
# list.
is_wrong = np.isin([each.row for each in found], wrong)
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.plot(np.arange(len(found)) + 1, is_wrong.cumsum(), label="suspicious_labels")
read = np.arange(len(found)) + 1
ax.plot(read, read * len(wrong) / len(labels), color="grey", linestyle="--", label="texts in random order")
ax.axhline(len(wrong), color="grey", linewidth=0.8)
ax.set(xlabel="texts read", ylabel="wrong labels found")
ax.legend()
print(f"{len(found)} labels listed, {is_wrong.sum()} of the {len(wrong)} wrong ones among them")
