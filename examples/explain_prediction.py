"""
Why did the model decide like this?
===================================

The model is linear, so a prediction is a sum: each word and pair of words of the text adds to one class or
to another. ``explain`` shows this sum for the predicted class against the runner-up.
"""

import matplotlib.pyplot as plt

from dropglm import TextClassifier, load_dataset
from dropglm.plots import NgramWeightsDisplay

data = load_dataset("docstrings")
model = TextClassifier(n_jobs=-1).fit(data.texts, data.y)

text = "Return the indices of the elements of a sorted column that are not masked."
explanation = model.explain(text)
print(explanation)

# %%
# The same as a picture. Bars to the right favour the predicted class, bars to the left the runner-up.
figure, ax = plt.subplots(figsize=(6, 4.5), layout="constrained")
NgramWeightsDisplay.from_explanation(explanation, k=8, ax=ax)

# %%
# For programs, an explanation is a dictionary, and every n-gram has its contribution.
first = explanation.contributions[0]
print(f"{first.ngram}: {first.weight:+.2f}, in JSON {sorted(explanation.to_dict())}")
