"""Synthetic texts whose words depend on the label."""

import numpy as np

WORDS = {
    "good": "lovely great fun moving warm",
    "bad": "dull boring long weak cold",
    "odd": "weird eerie queer",
}


def random_text(label, rng):
    words = [*WORDS[label].split(), "a", "the", "film", "cast", "story", "music", "and", "of", "with"]
    return " ".join(rng.choice(words, size=8))


def texts_with_labels(n, seed=0):
    """Return texts that consist of the words of any number of labels, and their lists of labels."""
    rng = np.random.default_rng(seed)
    lists = [[label for label in WORDS if rng.random() < 0.4] for _ in range(n)]
    texts = []
    for labels in lists:
        words = rng.choice(["a", "the", "film", "cast", "story", "music", "and", "of", "with"], 4).tolist()
        for label in labels:
            words += rng.choice(WORDS[label].split(), 2).tolist()
        texts.append(" ".join(rng.permutation(words)))
    return texts, lists
