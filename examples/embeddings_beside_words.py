"""
What do embeddings add to the words?
====================================

An embedding turns a text into a row of numbers with a model that has seen many other texts. It knows words
that occur in none of your labelled texts. ``TextClassifier`` uses it beside the n-grams, and ``explain``
says how much each of them contributes. A real embedder is a model of sentence-transformers or model2vec; so
that nothing needs to be downloaded, both the texts and the embedder are generated here.
"""

import matplotlib.pyplot as plt
import numpy as np

from dropglm import TextClassifier

# %%
# A language of 600 words: 100 of them praise, 100 blame, the others say nothing. The embedder knows a
# vector of every word, in which praise and blame differ, and returns the mean over the words of a text.
rng = np.random.default_rng(0)
words = np.array([f"{a}{b}" for a in "bdfghklmnprst" for b in ("a", "e", "i", "o", "u")])
words = np.array([f"{first}{second}" for first in words for second in words])[:600]
vectors = rng.normal(size=(600, 20))
vectors[:100, 0] += 2.0
vectors[100:200, 0] -= 2.0
vector_of = dict(zip(words, vectors, strict=True))


def embedder(texts):
    return np.array([np.mean([vector_of[word] for word in text.split()], axis=0) for text in texts])


def review(praise):
    opinion = words[:100] if praise else words[100:200]
    return " ".join([*rng.choice(opinion, 4), *rng.choice(words[200:], 12)])


y = rng.random(1200) < 0.5
texts = [review(praise) for praise in y]
labels = np.where(y, "praise", "blame")

# %%
# With few labels, most words of praise and blame are unknown and the embedding helps most. With many
# labels, the words themselves are known.
sizes = [20, 40, 80, 160, 320]
scores: dict[str, list[float]] = {"words": [], "words and embeddings": []}
for n in sizes:
    for name, model in zip(scores, (TextClassifier(), TextClassifier(embedder=embedder)), strict=True):
        model.fit(texts[:n], labels[:n])
        scores[name].append(model.score(texts[400:], labels[400:]))

figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for name, accuracy in scores.items():
    ax.plot(sizes, accuracy, "o-", label=name)
    print(f"{name:<21}", "  ".join(f"{each:.3f}" for each in accuracy))
ax.set(xscale="log", xlabel="labelled texts", ylabel="test accuracy")
ax.set_xticks(sizes, [str(n) for n in sizes])
ax.minorticks_off()
ax.legend()

# %%
# An explanation has one line for the embedding, relative to that of an average text.
print(model.explain(texts[-1]))
