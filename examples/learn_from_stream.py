"""
How do I learn from a stream, and notice that it changes?
=========================================================

``partial_fit`` predicts each text before it learns from it, so the running accuracy is an honest estimate.
Here a stream of tickets changes after 3,000 texts: a word that meant one class means the other from then
on.
"""

import matplotlib.pyplot as plt
import numpy as np

from dropglm import OnlineTextClassifier

rng = np.random.default_rng(0)
SIGNS = {"refund": ["invoice", "charged", "refund"], "fault": ["error", "crash", "broken"]}
OTHERS = [f"word{k}" for k in range(300)]


def ticket(label, swapped):
    """Return a text with two words that point to its class, and six that say nothing."""
    signs = SIGNS["fault" if (label == "refund") == swapped else "refund"]
    return " ".join(rng.permutation([*rng.choice(signs, 2), *rng.choice(OTHERS, 6)]))


labels = rng.choice(["refund", "fault"], size=6000)
texts = [ticket(label, swapped=number >= 3000) for number, label in enumerate(labels)]

# %%
# Each rule learns from 100 texts at a time. ``predict`` before ``partial_fit`` gives the accuracy of the
# next 100.
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for rule in ("adagrad", "arow", "sgd"):
    model = OnlineTextClassifier(bits=14, rule=rule)
    recent = []
    for start in range(0, len(texts), 100):
        batch, answers = texts[start : start + 100], labels[start : start + 100]
        if start:
            recent.append(float((model.predict(batch) == answers).mean()))
        model.partial_fit(batch, answers, classes=["fault", "refund"])
    ax.plot(100 * np.arange(1, len(recent) + 1), recent, label=rule)
    overall, last = model.progressive_accuracy_, np.mean(recent[-5:])
    print(f"{rule:<8} {overall:.3f} over all texts, {last:.3f} over the last 500")
ax.axvline(3000, color="grey", linestyle="--")
ax.set(xlabel="texts seen", ylabel="accuracy of the next 100")
ax.legend()

# %%
# A rule whose steps shrink with the amount of data seen takes longer to change its mind. If your stream
# changes, compare the accuracy of recent texts with that of all texts, and start again from a model of
# recent texts when the two part.
