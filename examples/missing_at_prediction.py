"""
What if features are missing when I predict?
============================================

Sensors fail, and fields of a form stay empty. A model that was fitted to complete rows may rely on a single
feature. Training with dropout prepares for this: it minimises the expected loss if features are dropped at
random, and so spreads its weights over features that say the same.
"""

import matplotlib.pyplot as plt
import numpy as np

from dropglm import LogisticRegression

# %%
# Five signals decide the class. Each is measured by eight sensors, from precise to poor ones.
rng = np.random.default_rng(0)
signals = rng.normal(size=(4400, 5))
noise = np.linspace(0.3, 2.0, 8)
X = np.hstack([signals[:, [k]] + noise * rng.normal(size=(4400, 8)) for k in range(5)])
y = signals.sum(axis=1) + 0.5 * rng.logistic(size=4400) > 0
train, test = slice(0, 400), slice(400, None)

# %%
# The models are fitted to 400 complete rows. In the test rows a share of the measurements is missing: 0,
# and the others are scaled up to make up for it.
models = {f"l2 = {l2:g}": LogisticRegression(dropout=0.0, l2=l2) for l2 in (1.0, 10.0, 100.0)}
models |= {f"dropout = {rate}": LogisticRegression(dropout=rate, l2=0.01) for rate in (0.2, 0.5)}
missing = np.linspace(0, 0.8, 9)
kept = [rng.random(X[test].shape) >= share for share in missing]

figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for name, model in models.items():
    model.fit(X[train], y[train])
    accuracy = [
        (model.predict(X[test] * mask / (1 - share)) == y[test]).mean()
        for mask, share in zip(kept, missing, strict=True)
    ]
    ax.plot(missing, accuracy, "o-" if "dropout" in name else "s--", label=name)
    print(f"{name:<15} complete rows {accuracy[0]:.3f}, half missing {accuracy[5]:.3f}")
ax.set(xlabel="share of missing measurements", ylabel="test accuracy")
ax.legend()

# %%
# The weights of the first signal's eight sensors: without noise the precise ones get nearly all of it.
figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
for name in ("l2 = 1", "dropout = 0.5"):
    ax.plot(noise, models[name].coef_[0, :8], "o-", label=name)
ax.axhline(0, color="grey", linewidth=0.8)
ax.set(xlabel="noise of the sensor", ylabel="coefficient")
ax.legend()
