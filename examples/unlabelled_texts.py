"""
What do texts without labels add?
=================================

Labels are expensive and texts are not: often a few dozen texts are labelled and thousands are not. The task
here is to predict which installed package a docstring comes from. We compare tf-idf with logistic
regression, and ``TextClassifier`` with and without the unlabelled texts, on the same labels and the same
test texts.
"""

import matplotlib.pyplot as plt
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from dropglm import TextClassifier, load_dataset

data = load_dataset("docstrings", n_labeled=200, n_test=1000)
print(data)

# %%
# The first 50, 100 and 200 labelled texts are the training texts. ``TextClassifier`` chooses its settings
# by cross-validation; for tf-idf, C = 10 is a good value for few texts.
labels = [50, 100, 200]
accuracy: dict[str, list[float]] = {"tf-idf": [], "TextClassifier": [], "TextClassifier + unlabelled": []}
for n in labels:
    texts, y = data.texts[:n], data.y[:n]
    tfidf = make_pipeline(TfidfVectorizer(sublinear_tf=True), LogisticRegression(C=10))
    alone = TextClassifier(n_jobs=-1)
    both = TextClassifier(n_jobs=-1)
    accuracy["tf-idf"].append(tfidf.fit(texts, y).score(data.texts_test, data.y_test))
    accuracy["TextClassifier"].append(alone.fit(texts, y).score(data.texts_test, data.y_test))
    both.fit(texts, y, X_unlabeled=data.unlabeled)
    accuracy["TextClassifier + unlabelled"].append(both.score(data.texts_test, data.y_test))

# %%
# Test accuracy by number of labels:
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for name, scores in accuracy.items():
    ax.plot(labels, scores, "o-", label=name)
    print(f"{name:<28}", "  ".join(f"{score:.3f}" for score in scores))
ax.set(xscale="log", xlabel="labelled texts", ylabel="test accuracy")
ax.set_xticks(labels, [str(n) for n in labels])
ax.minorticks_off()
ax.legend()

# %%
# The summary of a model says what the unlabelled texts brought on held-out labelled texts. If they bring
# nothing, ``fit`` warns. One split of one data set proves little: :doc:`/paper/few-labels` has seven data
# sets, ten seeds and eleven rivals.
print(both.summary_)
