"""
Which words does the model take for related?
============================================

With few labels, most words occur in no labelled text. ``LatentFeatures`` learns from all texts which words
occur together; a word that was never labelled then shares the evidence of its neighbours.
``TextClassifier`` does this by itself when it gets unlabelled texts.
"""

import matplotlib.pyplot as plt
import numpy as np

from dropglm import LatentFeatures, NgramVectorizer, load_dataset

data = load_dataset("docstrings")
texts = [*data.texts, *data.unlabeled]
vectorizer = NgramVectorizer(
    min_df=40, max_df=0.2, token_pattern=r"(?u)\b[a-z]{4,}\b", use_idf=True, norm="l2", dtype=np.float64
)
X = vectorizer.fit_transform(texts)
latent = LatentFeatures(n_components=20).fit(X)
share = latent.explained_share_.sum()
print(f"{X.shape[0]} texts, {X.shape[1]} words, {share:.0%} of the squares in 20 vectors")

# %%
# The neighbours of some words: the cosine of their coordinates, scaled by the singular values.
names = vectorizer.get_feature_names_out()
coordinates = (latent.components_ * np.sqrt(latent.singular_values_)[:, None]).T
coordinates /= np.linalg.norm(coordinates, axis=1, keepdims=True)
seeds = ["matrix", "file", "dataframe", "cluster"]
groups = {word: np.argsort(-(coordinates @ coordinates[names == word][0]))[:8] for word in seeds}
for word, near in groups.items():
    print(f"{word:<10}", ", ".join(names[near[1:6]]))

# %%
# The cosines of these words: each group is similar within itself, and some groups are related to others.
shown = np.concatenate(list(groups.values()))
figure, ax = plt.subplots(figsize=(7.5, 6.5), layout="constrained")
image = ax.imshow(coordinates[shown] @ coordinates[shown].T, vmin=-1, vmax=1, cmap="RdBu_r")
ax.set_xticks(range(len(shown)), names[shown], rotation=90, fontsize=8)
ax.set_yticks(range(len(shown)), names[shown], fontsize=8)
figure.colorbar(image, label="cosine", shrink=0.7)
