"""Tables and figure of the experiment on IMDB, from its raw lines alone."""

from typing import Any

import numpy as np

from dropglm.experiments.experiment import Comparison, Line
from dropglm.experiments.lines import by
from dropglm.experiments.methods import METHODS, OURS, PAPERS, Dropout
from dropglm.pages import ResultTable
from dropglm.plots.axes import COLOURS, fresh_axes

NGRAMS = {1: "unigrams", 2: "bigrams", 3: "trigrams"}
PUBLISHED = "cut at white space"
WIDE = "wide"
Pair = tuple[float | None, float | None]  # labelled, + unlabelled
NOTHING: Pair = (None, None)
# The paper's rows, in per cent.
PAPER: dict[str, Pair] = {
    "MNB-Uni": (83.62, 84.13),
    "MNB-Bi": (86.63, 86.98),
    "Vect.Sent, as published": (88.33, 88.89),
    "NBSVM-Bi": (91.22, None),
    "Drop-Uni": (87.78, 89.52),
    "Drop-Bi": (91.31, 91.98),
}
# Where our figures for these rows stand: data, and the methods with labelled and with all rows.
REPLICAS: dict[str, tuple[str, str, str | None]] = {
    "MNB-Uni": (f"unigrams, {PUBLISHED}", "MNB", "MNB, SFE"),
    "MNB-Bi": (f"bigrams, {PUBLISHED}", "MNB", "MNB, SFE"),
    "NBSVM-Bi": (f"bigrams, {PUBLISHED}", "NB-SVM", None),
}
DROPOUT = {"Drop-Uni": "unigrams", "Drop-Bi": "bigrams", "Drop-Tri": "trigrams", "Drop, wide": WIDE}


def collect(lines: list[Line]) -> list[ResultTable]:
    """The paper's table beside ours, and every method by size of n-grams."""
    data = by("data", lines)
    return [
        _papers(data),
        _everything(data),
        *(_settings(name, mine) for name, mine in data.items() if PUBLISHED not in name),
    ]


def _papers(data: dict[str, list[Line]]) -> ResultTable:
    rows = []
    for row in PAPER | DROPOUT:
        paper = PAPER.get(row, NOTHING)
        for who, pair in (_found(row, data) or {"": NOTHING}).items():
            gaps = [None if a is None or b is None else a - b for a, b in zip(pair, paper, strict=True)]
            name = f"{row}, {who}" if who == "quadratic" else row
            if who != "quadratic" or pair != NOTHING:
                rows.append([name, *map(_number, (*paper, *pair)), *(_number(gap, "+.2f") for gap in gaps)])
    header = ["method", "paper", "+ unl.", "ours", "+ unl.", "gap", "gap, + unl."]
    return ResultTable("The paper's table and ours: test accuracy in per cent", header, rows)


def _found(row: str, data: dict[str, list[Line]]) -> dict[str, Pair]:
    """Our figures for a row of the table, by who made them."""
    if row in REPLICAS:
        name, labeled, both = REPLICAS[row]
        lines = {line["method"]: line for line in data.get(name, [])}
        return {"the rival": (_percent(lines.get(labeled)), _percent(lines.get(both)))}
    if row not in DROPOUT:
        return {}
    mine = data.get(DROPOUT[row], [])
    return {
        who: (
            _percent(chosen(mine, among, unlabeled=False)),
            _percent(chosen(mine, among, unlabeled=True)),
        )
        for who, among in (("ours", OURS), ("quadratic", PAPERS))
    }


def chosen(lines: list[Line], among: dict[str, Dropout], *, unlabeled: bool) -> Line | None:
    """The line that cross-validation finds best."""
    mine = [
        line for line in lines if line["method"] in among and among[line["method"]].unlabeled == unlabeled
    ]
    return max(mine, key=lambda line: line["result"]["cv_score"], default=None)


def _everything(data: dict[str, list[Line]]) -> ResultTable:
    """Accuracy and log loss of every method."""
    rows = []
    for label in METHODS:
        row = [label]
        for words in NGRAMS.values():
            line = {line["method"]: line for line in data.get(words, [])}.get(label)
            loss = None if line is None else line["result"].get("log_loss")
            row += [_number(_percent(line)), _number(loss, ".3f")]
        rows.append(row)
    header = [
        "method",
        *(f"{words} {cell}".strip() for words in NGRAMS.values() for cell in ("", "log loss")),
    ]
    return ResultTable("Every method, tuned: test accuracy in per cent, and log loss", header, rows)


def _settings(name: str, lines: list[Line]) -> ResultTable:
    """What was chosen."""
    rows = []
    for line in lines:
        result = line["result"]
        settings = ", ".join(f"{key} {value:g}" for key, value in result["chosen"].items())
        cv, test = 100 * result["cv_score"], 100 * result["accuracy"]
        rows.append([line["method"], settings, f"{cv:.2f}", f"{test:.2f}", f"{line['seconds']:.0f}"])
    d = max(line["result"]["features"] for line in lines)
    header = ["method", "chosen", "cross-validation", "test", "seconds"]
    title = f"{name}: what was chosen, its accuracy, and the seconds of tuning and training; {d:,} features"
    training = [line["result"]["training_seconds"] for line in lines if "training_seconds" in line["result"]]
    if training:
        title += f"; {training[0]:.0f} s of training once settings are known"
    return ResultTable(title, header, rows)


def compare(lines: list[Line]) -> list[Comparison]:
    """Every row of the paper's table that was run: like the paper's, and the best of ours; and beyond it."""
    data, compared = by("data", lines), []
    for row in PAPER | DROPOUT:
        for who, pair in _found(row, data).items():
            for rows, paper, ours in zip(("", " + unlabelled"), PAPER.get(row, NOTHING), pair, strict=True):
                if ours is not None:
                    error = float(np.sqrt(ours * (100 - ours) / lines[0]["result"]["test_rows"]))
                    compared.append(Comparison(f"{row}{rows}, per cent: {who}", paper, ours, error))
    return compared


def draw(lines: list[Line]) -> dict[str, list[Any]]:
    """Accuracy of all methods, those with unlabelled rows apart."""
    data = by("data", lines)
    ax = fresh_axes()
    ax.figure.set_size_inches(6, 5.5)
    for k, (words, colour) in enumerate(zip(NGRAMS.values(), COLOURS, strict=False)):
        mine = {line["method"]: 100 * line["result"]["accuracy"] for line in data.get(words, [])}
        places = [list(METHODS).index(label) + 0.2 * (k - 1) for label in mine]
        ax.plot(list(mine.values()), places, "o", color=colour, label=words)
    for row, style in (("Drop-Uni", ":"), ("Drop-Bi", "--")):
        ax.axvline(PAPER[row][1], color="#888888", linestyle=style, label=f"the paper's {row} + unlabelled")
    ax.set(yticks=range(len(METHODS)), yticklabels=list(METHODS), xlabel="test accuracy, per cent")
    ax.set_xlim(left=82)
    ax.invert_yaxis()
    ax.legend(frameon=False, fontsize="small", loc="lower left")
    return {"IMDB: test accuracy of every method, tuned on labelled rows.": [ax.figure]}


def _percent(line: Line | None) -> float | None:
    return None if line is None else 100 * line["result"]["accuracy"]


def _number(value: float | None, form: str = ".2f") -> str:
    return "-" if value is None else f"{value:{form}}"
