"""Tables and figure of the experiment on IMDB, from its raw lines alone."""

from typing import Any

import numpy as np

from dropglm.experiments.experiment import Comparison, Line
from dropglm.experiments.lines import by
from dropglm.experiments.methods import METHODS, OURS, PAPERS, Dropout
from dropglm.pages import Table
from dropglm.plots.axes import COLOURS, fresh_axes

NGRAMS = {1: "unigrams", 2: "bigrams", 3: "trigrams"}
PUBLISHED = "cut at white space"
WIDE = "wide"
# The paper's rows, in per cent: labelled, + unlabelled.
PAPER: dict[str, tuple[float | None, float | None]] = {
    "MNB-Uni": (83.62, 84.13),
    "MNB-Bi": (86.63, 86.98),
    "Vect.Sent, as published": (88.33, 88.89),
    "NBSVM-Bi": (91.22, None),
    "Drop-Uni": (87.78, 89.52),
    "Drop-Bi": (91.31, 91.98),
}
# Where our figures for these rows stand: data, and the methods with labelled and with all rows.
REPLICAS = {
    "MNB-Uni": (f"unigrams, {PUBLISHED}", "MNB", "MNB, SFE"),
    "MNB-Bi": (f"bigrams, {PUBLISHED}", "MNB", "MNB, SFE"),
    "NBSVM-Bi": (f"bigrams, {PUBLISHED}", "NB-SVM", None),
}
DROPOUT = {"Drop-Uni": "unigrams", "Drop-Bi": "bigrams", "Drop-Tri": "trigrams", "Drop, wide": WIDE}


def collect(lines: list[Line]) -> list[Table]:
    """The paper's table beside ours, and every method by size of n-grams."""
    data = by("data", lines)
    return [
        _papers(data),
        _everything(data),
        *(_settings(name, mine) for name, mine in data.items() if PUBLISHED not in name),
    ]


def _papers(data: dict[str, list[Line]]) -> Table:
    rows = []
    for row in (*PAPER, *(name for name in DROPOUT if name not in PAPER)):
        ours = _ours(row, data)
        paper = PAPER.get(row, (None, None))
        gaps = [None if a is None or b is None else a - b for a, b in zip(ours, paper, strict=True)]
        cells = [*(_number(value) for value in (*paper, *ours)), *(_number(gap, "+.2f") for gap in gaps)]
        rows.append([row, *cells])
        if row in DROPOUT:
            surrogate = _surrogate(row, data)
            if any(value is not None for value in surrogate):
                gaps = [
                    None if a is None or b is None else a - b for a, b in zip(surrogate, paper, strict=True)
                ]
                cells = [*map(_number, (*paper, *surrogate)), *(_number(gap, "+.2f") for gap in gaps)]
                rows.append([f"{row}, quadratic", *cells])
    header = ["method", "paper", "+ unl.", "ours", "+ unl.", "gap", "gap, + unl."]
    return Table("The paper's table and ours: test accuracy in per cent", header, rows)


def _ours(row: str, data: dict[str, list[Line]]) -> tuple[float | None, float | None]:
    """Our figures for a row of the table: labelled, + unlabelled."""
    if row in REPLICAS:
        name, *methods = REPLICAS[row]
        lines = by("method", data.get(name, []))
        first, second = (_percent(lines[label][0] if label in lines else None) for label in methods)
        return first, second
    if row in DROPOUT:
        lines_ = data.get(DROPOUT[row], [])
        first, second = (_percent(chosen(lines_, OURS, unlabeled=u)) for u in (False, True))
        return first, second
    return None, None


def _surrogate(row: str, data: dict[str, list[Line]]) -> tuple[float | None, float | None]:
    """The same for dropout with the paper's penalty."""
    lines = data.get(DROPOUT[row], [])
    first, second = (_percent(chosen(lines, PAPERS, unlabeled=u)) for u in (False, True))
    return first, second


def chosen(lines: list[Line], among: dict[str, Dropout], *, unlabeled: bool) -> Line | None:
    """The line that cross-validation finds best."""
    mine = [
        line for line in lines if line["method"] in among and among[line["method"]].unlabeled == unlabeled
    ]
    return max(mine, key=lambda line: line["result"]["cv_score"], default=None)


def _everything(data: dict[str, list[Line]]) -> Table:
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
    return Table("Every method, tuned: test accuracy in per cent, and log loss", header, rows)


def _settings(name: str, lines: list[Line]) -> Table:
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
    return Table(title, header, rows)


def compare(lines: list[Line]) -> list[Comparison]:
    """Every row of the paper's table that was run: like the paper's, and the best of ours; and beyond it."""
    data, found = by("data", lines), []
    for row in PAPER | DROPOUT:
        papers = PAPER.get(row, (None, None))
        told = {": the rival": _ours(row, data)}
        if row in DROPOUT:
            told = {": quadratic": _surrogate(row, data), ": ours": _ours(row, data)}
        for what, pair in told.items():
            for rows, paper, ours in zip(("", " + unlabelled"), papers, pair, strict=True):
                if ours is not None:
                    error = float(np.sqrt(ours * (100 - ours) / lines[0]["result"]["test_rows"]))
                    found.append(Comparison(f"{row}{rows}, per cent{what}", paper, ours, error))
    return found


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
