"""Score a text with a model that dropglm export --json has written: python read_model.py model.json TEXT."""

import gzip
import json
import math
import re
import sys
from collections import Counter
from unicodedata import normalize

TF = {"binary": lambda c: 1, "count": lambda c: c, "log": lambda c: 1 + math.log(c)}
NORM = {"l1": lambda *x: sum(map(abs, x)), "l2": math.hypot, None: lambda *x: 1}


class Model:
    """A text classifier; ``probabilities(text)`` maps each class or label to its probability."""

    def __init__(self, path):
        with (gzip.open if str(path).endswith(".gz") else open)(path, "rb") as file:
            self.file = m = json.load(file)
        if m.get("format") != "dropglm text classifier" or m.get("version") not in (1, 2):
            raise ValueError(f"{path} is not a model of this format.")
        for part in filter(None, (m, m["characters"])):
            part["column"] = {ngram: j for j, ngram in enumerate(part["vocabulary"])}
        word, shortest, single = (m["tokens"][name] for name in ("word", "shortest", "single"))
        self.token = re.compile(f"{_class(word)}{{{shortest},}}" + (f"|{_class(single)}" if single else ""))
        if m["lowercase"]:
            cased, ignored = (_class(m["lowercase"][name]) for name in ("cased", "ignored"))
            self.final_sigma = re.compile(f"({cased}{ignored}*)Σ(?!{ignored}*{cased})")

    def predictors(self, text):  # one per class; of two classes, that of the second one only
        m, text = self.file, normalize(self.file["normalization"], text)
        if lower := m["lowercase"]:
            text = "".join(lower["characters"].get(c, c) for c in self.final_sigma.sub(r"\1ς", text))
        plain = re.sub("</?[a-zA-Z][^<>]*>", " ", text) if m["strip_html"] else text
        tokens = [token for token in self.token.findall(plain) if token not in m["stop_words"]]
        parts = [m["intercepts"], _predictors(m, [tokens], " ")]
        if m["characters"]:  # within words, with a blank on each side; a shorter word counts as a whole
            words = [f" {word} " for word in re.split(_class(m["characters"]["white_space"]), text) if word]
            parts.append(_predictors(m["characters"], words, ""))
        return [sum(of_class) for of_class in zip(*parts, strict=True)]

    def probabilities(self, text):
        eta = self.predictors(text)
        if self.file["link"] == "independent_logistic":  # several labels, each with a probability of its own
            return {k: (1 + math.tanh(e / 2)) / 2 for k, e in zip(self.file["classes"], eta, strict=True)}
        eta = [0.0, *eta] if self.file["link"] == "logistic" else eta
        if self.file["link"] == "normalized_logistic":  # ln p = -ln(1 + exp(-eta)), without overflow
            eta = [min(e, 0.0) - math.log1p(math.exp(-abs(e))) for e in eta]
        weights = [math.exp(e - max(eta)) for e in eta]
        return {name: w / sum(weights) for name, w in zip(self.file["classes"], weights, strict=True)}

    def labels(self, text):  # those of several labels that the text is given
        p, least = self.probabilities(text), self.file["thresholds"]
        return [name for name, t in zip(p, least, strict=True) if p[name] > t]


def _predictors(part, sequences, blank):  # what n-grams, runs of the sequences, add to each class
    shortest, longest = part["ngram_range"]
    counts = Counter(
        part["column"].get(blank.join(sequence[k : k + n]))
        for sequence in sequences
        for n in range(shortest, longest + 1)
        for k in range(max(len(sequence) - n + 1, not blank and n == shortest))
    )
    x = {j: TF[part["tf"]](c) * part["factors"][j] for j, c in counts.items() if j is not None}
    norm = NORM[part["norm"]](*x.values()) or 1
    return [sum(beta[j] * v for j, v in x.items()) / norm for beta in part["coefficients"]]


def _class(ranges):  # as a part of a regular expression
    return "[" + "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges) + "]"


if __name__ == "__main__":
    print(json.dumps(Model(sys.argv[1]).probabilities(sys.argv[2]), ensure_ascii=False))
