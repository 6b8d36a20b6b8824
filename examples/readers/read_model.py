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
    """A text classifier; ``probabilities(text)`` maps each class to its probability."""

    def __init__(self, path):
        with (gzip.open if str(path).endswith(".gz") else open)(path, "rb") as file:
            self.file = m = json.load(file)
        if (m.get("format"), m.get("version")) != ("dropglm text classifier", 1):
            raise ValueError(f"{path} is not a model of this format.")
        self.column = {ngram: j for j, ngram in enumerate(m["vocabulary"])}
        word, shortest, single = (m["tokens"][name] for name in ("word", "shortest", "single"))
        self.token = re.compile(f"{_class(word)}{{{shortest},}}" + (f"|{_class(single)}" if single else ""))
        if m["lowercase"]:
            cased, ignored = (_class(m["lowercase"][name]) for name in ("cased", "ignored"))
            self.final_sigma = re.compile(f"({cased}{ignored}*)Σ(?!{ignored}*{cased})")

    def split(self, text):  # into tokens
        text = normalize(self.file["normalization"], text)
        if lower := self.file["lowercase"]:
            text = "".join(lower["characters"].get(c, c) for c in self.final_sigma.sub(r"\1ς", text))
        text = re.sub("</?[a-zA-Z][^<>]*>", " ", text) if self.file["strip_html"] else text
        return [token for token in self.token.findall(text) if token not in self.file["stop_words"]]

    def predictors(self, text):  # one per class; of two classes, that of the second one only
        m, tokens, (shortest, longest) = self.file, self.split(text), self.file["ngram_range"]
        spans = ((k, k + n) for n in range(shortest, longest + 1) for k in range(len(tokens) - n + 1))
        counts = Counter(self.column.get(" ".join(tokens[start:stop])) for start, stop in spans)
        x = {j: TF[m["tf"]](c) * m["factors"][j] for j, c in counts.items() if j is not None}
        norm = NORM[m["norm"]](*x.values()) or 1
        rows, b = m["coefficients"], m["intercepts"]
        return [b[k] + sum(beta[j] * v for j, v in x.items()) / norm for k, beta in enumerate(rows)]

    def probabilities(self, text):
        eta = self.predictors(text)
        eta = [0.0, *eta] if self.file["link"] == "logistic" else eta
        if self.file["link"] == "normalized_logistic":  # ln p = -ln(1 + exp(-eta)), without overflow
            eta = [min(e, 0.0) - math.log1p(math.exp(-abs(e))) for e in eta]
        weights = [math.exp(e - max(eta)) for e in eta]
        return {name: w / sum(weights) for name, w in zip(self.file["classes"], weights, strict=True)}


def _class(ranges):  # as a part of a regular expression
    return "[" + "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges) + "]"


if __name__ == "__main__":
    print(json.dumps(Model(sys.argv[1]).probabilities(sys.argv[2]), ensure_ascii=False))
