"""
Is it better than the alternatives on my texts?
===============================================

Compare on your own texts before you decide: the same folds, the same texts, and scores with their spread.
The rivals here take a few lines each. ``dropglm train --baseline`` does such a comparison from the command
line.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from dropglm import TextClassifier, load_dataset
from dropglm.baselines import NBSVM

data = load_dataset("docstrings")
methods = {
    "naive Bayes": make_pipeline(CountVectorizer(), MultinomialNB()),
    "NB-SVM": make_pipeline(CountVectorizer(ngram_range=(1, 2), binary=True), NBSVM()),
    "tf-idf + logistic": make_pipeline(TfidfVectorizer(sublinear_tf=True), LogisticRegression(C=10)),
    "TextClassifier": TextClassifier(n_jobs=-1),
}
folds = StratifiedKFold(5, shuffle=True, random_state=0)
scores = {name: cross_val_score(method, data.texts, data.y, cv=folds) for name, method in methods.items()}

# %%
# One point per fold; a bar is the mean.
figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
for place, (name, found) in enumerate(scores.items()):
    ax.barh(place, found.mean(), color="C0", alpha=0.4)
    ax.plot(found, np.full(5, place), "o", color="C0", markersize=4)
    print(f"{name:<20}{found.mean():.3f} ± {found.std(ddof=1) / np.sqrt(5):.3f}")
ax.set_yticks(range(len(scores)), list(scores))
ax.invert_yaxis()
ax.set(xlabel="accuracy on held-out texts", xlim=(0.6, 1))

# %%
# Differences on the same folds are more reliable than the scores themselves:
difference = scores["TextClassifier"] - scores["tf-idf + logistic"]
print(f"TextClassifier minus tf-idf: {difference.mean():+.3f} ± {difference.std(ddof=1) / np.sqrt(5):.3f}")
