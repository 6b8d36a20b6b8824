"""
How do I use a text and numbers of the same table?
==================================================

A table of tickets has a text and some numbers. Words are sparse and suit dropout; numbers are dense and do
not. ``BlockTransformer`` keeps the two apart, so that each gets its own noise and its own L2 penalty.
"""

import matplotlib.pyplot as plt
import numpy as np
import polars as pl
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dropglm import BlockTransformer, LogisticRegression, NgramVectorizer, PerBlock

# %%
# A generated table: whether a ticket is urgent depends on some of its words, on how long the customer has
# waited and on the number of earlier tickets.
rng = np.random.default_rng(0)
n = 600
alarming, calm = ["outage", "blocked", "deadline", "legal"], ["question", "idea", "thanks", "typo"]
hours, earlier = rng.exponential(10, n), rng.poisson(1.5, n)
tone = rng.random(n)
texts = [
    " ".join(
        [
            *(rng.choice(alarming if rng.random() < mood else calm) for _ in range(3)),
            *rng.choice([f"w{k}" for k in range(200)], 8),
        ]
    )
    for mood in tone
]
score = 12 * (tone - 0.5) + 0.15 * (hours - 10) + 0.8 * (earlier - 1.5)
table = pl.DataFrame({"text": texts, "hours": hours, "earlier": earlier})
urgent = np.where(score + rng.logistic(size=n) > 0, "urgent", "normal")
print(table.head(3))

# %%
# Three models: the text alone, the numbers alone, and both. With ``PerBlock``, dropout applies to words
# only.
words = ("words", NgramVectorizer(), "text")
numbers = ("numbers", StandardScaler(), ["hours", "earlier"])
models = {
    "text": make_pipeline(BlockTransformer([words]), LogisticRegression(dropout=0.5)),
    "numbers": make_pipeline(BlockTransformer([numbers]), LogisticRegression(dropout=0.0)),
    "both": make_pipeline(
        BlockTransformer([words, numbers]),
        LogisticRegression(dropout=PerBlock(0.5, 0.0), l2_weights=PerBlock(1.0, 0.1)),
    ),
}
scores = {name: cross_val_score(model, table, urgent, cv=5) for name, model in models.items()}

# %%
figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
means = [found.mean() for found in scores.values()]
ax.barh(list(scores), means, xerr=[found.std() / np.sqrt(5) for found in scores.values()])
ax.invert_yaxis()
ax.set(xlabel="accuracy, 5 folds", xlim=(0.5, 0.9))
for name, mean in zip(scores, means, strict=True):
    print(f"{name:<22}{mean:.3f}")
