"""
What has the model learnt?
==========================

Before a model is used, look at the words that it relies on. A word that should not matter, such as the name
of an author or of a data source, is easy to see here, and hard to find by looking at scores.
"""

import matplotlib.pyplot as plt

from dropglm import TextClassifier, load_dataset
from dropglm.plots import NgramWeightsDisplay

data = load_dataset("docstrings")
model = TextClassifier(n_jobs=-1).fit(data.texts, data.y, X_unlabeled=data.unlabeled)

figure, axes = plt.subplots(1, 2, figsize=(9, 4.5), layout="constrained")
for label, ax in zip(["polars", "sklearn"], axes, strict=True):
    NgramWeightsDisplay.from_estimator(model, label, k=12, ax=ax)

# %%
# The docstrings of polars print tables, and the characters of their borders are among its n-grams: a text
# about polars without a table would be harder to recognise. This is what such a look is for.
#
# ``top_features`` has the same as numbers, for all classes. The weight of an n-gram is what it typically
# adds to the predictor.
for label, ngrams in model.top_features(4).items():
    print(f"{label:<8}", ", ".join(f"{ngram} {weight:+.2f}" for ngram, weight in ngrams))
