"""Synthetic texts of three topics, which have words in common."""

import numpy as np

TOPICS = ("sport", "music", "food")


def topic_texts(n=240, seed=0):
    """Return texts and their topics; a third of the words of a text are typical of its topic."""
    rng = np.random.default_rng(seed)
    topics = rng.choice(TOPICS, n)
    common = [f"word{k}" for k in range(60)]
    texts = [
        " ".join(
            f"{topic}{rng.integers(25)}" if rng.random() < 1 / 3 else str(rng.choice(common))
            for _ in range(int(rng.integers(6, 18)))
        )
        for topic in topics.tolist()
    ]
    return texts, topics
