"""
How much do the settings matter?
================================

``LogisticRegressionCV`` tries a grid of dropout and l2. The surface of its scores shows whether the choice
matters: if large parts have nearly the best score, stop tuning and look at the data instead.
"""

import matplotlib.pyplot as plt

from dropglm import LogisticRegressionCV, NgramVectorizer, load_dataset
from dropglm.plots import CVSurfaceDisplay

data = load_dataset("docstrings", n_labeled=200)
vectorizer = NgramVectorizer(min_df=2)
X, X_test = vectorizer.fit_transform(data.texts), vectorizer.transform(data.texts_test)

search = LogisticRegressionCV(
    dropout=(0.8, 0.5, 0.2, 0.0),
    l2=(10.0, 3.0, 1.0, 0.3, 0.1, 0.03),
    l2_weights="uniform",
    extend_l2=False,
    race=False,
    n_jobs=-1,
).fit(X, data.y)

# %%
# Negative log loss of held-out texts; larger is better. The best settings are marked.
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
CVSurfaceDisplay.from_estimator(search, ax=ax)

# %%
print(f"best: dropout {search.dropout_}, l2 {search.l2_}; log loss {-search.best_score_:.3f}")
print(f"test accuracy {search.best_estimator_.score(X_test, data.y_test):.3f}")
