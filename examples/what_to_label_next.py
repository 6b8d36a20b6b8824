"""
What should I label next?
=========================

``dropglm label`` shows one text after the other in the browser and chooses the next one. The same choice is
available in Python: texts that the model is unsure of and that are unlike those already labelled. Here an
annotator who knows all answers labels 60 docstrings, chosen by the model or drawn at random.
"""

import matplotlib.pyplot as plt
import numpy as np

from dropglm import load_dataset
from dropglm.labelling import TextPool, choose_texts

data = load_dataset("docstrings", n_labeled=1200, n_test=800)
answers = data.y
pool = TextPool(data.texts)
copies = pool.copy_of != np.arange(len(pool))


def label(choose, steps=10):
    """Label six texts at a time, and return the accuracy on the test texts after each step."""
    labels, model, scores = {}, pool.fit({}), []
    for _ in range(steps):
        labels |= {int(number): str(answers[number]) for number in choose(model, labels)}
        model = pool.fit(labels, start=model)
        predicted = np.array(model.classes)[model.predict_proba(data.texts_test).argmax(axis=1)]
        scores.append(float((predicted == data.y_test).mean()))
    return scores


# %%
# Two ways to choose:
def chosen(model, labels):
    return choose_texts(model.probabilities, pool.latent, labels, size=6, excluded=copies)


order = np.random.default_rng(0).permutation(len(pool))


def at_random(model, labels):
    return order[len(labels) : len(labels) + 6]


# %%
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for name, way in {"chosen by the model": chosen, "drawn at random": at_random}.items():
    scores = label(way)
    ax.plot(6 * np.arange(1, len(scores) + 1), scores, "o-", label=name)
    print(f"{name:<20} {scores[-1]:.3f} after 60 labels")
ax.set(xlabel="labels", ylabel="test accuracy")
ax.legend()

# %%
# This is one run. :doc:`/paper/labelling` has six data sets and ten seeds. To estimate accuracy while you
# label, draw one text in five at random, as ``dropglm label`` does: texts that the model has chosen are
# harder than others.
