"""Synthetic texts whose words depend on the label."""

WORDS = {
    "good": "lovely great fun moving warm",
    "bad": "dull boring long weak cold",
    "odd": "weird eerie queer",
}


def random_text(label, rng):
    words = [*WORDS[label].split(), "a", "the", "film", "cast", "story", "music", "and", "of", "with"]
    return " ".join(rng.choice(words, size=8))
