"""Tables of texts, numbers and categories: our classifier, a linear model of scikit-learn, and boosted trees.

Three tables: Debian's packages with their section (53 classes); 20 newsgroups, with the text below the
headers and the columns ``Organization`` and ``Lines`` of the headers; and generated orders of a shop, of
which some come back (4 classes), with a number whose effect bends, dates, a category of many values, missing
values, a number and a category without any effect, and an interaction. The linear rival is a
ColumnTransformer of tf-idf of each text, one-hot categories and the ranks of numbers with indicators of
missing ones (with 300 rows better than normal scores and than StandardScaler on all three tables), and a
multinomial logistic regression, whose C is one of ten values, by log loss in five folds (three if there are
more than 1,000 rows). The boosted one is
``skrub.tabular_pipeline``, with its defaults. BLAS has one thread. Probabilities of less than 1e-6 count as
1e-6, also of classes that no training row has. Every result is stored in ``benchmarks/.cache/columns.json``
and not computed again. The table goes into docs/guides/columns.md.

    DROPGLM_DATA=… python -m benchmarks.columns [--only METHOD] [NUMBER OF LABELLED ROWS …]
"""

import json
import random
import re
import sys
import time
import warnings
from collections.abc import Callable
from datetime import date, timedelta
from itertools import product
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, QuantileTransformer
from threadpoolctl import threadpool_limits

from benchmarks.markdown import ROOT, fill, table
from benchmarks.text import read
from dropglm import TableClassifier

SIZES, SEEDS, TEST = (300, 1_000, 10_000), {300: 2, 1_000: 1, 10_000: 1}, 4_000
STORED = ROOT / "benchmarks" / ".cache" / "columns.json"
CS = np.logspace(-2, 4, 10)
FEW = 1_000  # rows up to which the linear rival has five folds; three beyond, since it takes that long
SMALLEST = 1e-6  # probability, for log losses
HEADER = ["table", "labelled rows", "method", "log loss", "accuracy", "seconds"]

Loaded = tuple[pl.DataFrame, np.ndarray, dict[str, list[str]]]


def debian() -> Loaded:
    """Return Debian's packages."""
    data = read("debian")
    kinds = {
        "text": ["package", "summary"],
        "numeric": ["installed_size", "depends"],
        "categorical": ["priority", "architecture", "team", "has_homepage"],
    }
    return data.drop("section"), data["section"].to_numpy(), kinds


def newsgroups() -> Loaded:
    """Return 20 newsgroups with columns from the headers of messages."""
    data, rows = read("20news"), []
    for message in data["text"]:
        head, _, body = message.partition("\n\n")
        found = {
            name: re.search(rf"^{name}: *(.*)$", head, re.MULTILINE)
            for name in ("Subject", "Organization", "Lines")
        }
        values = {name: match[1] if match else None for name, match in found.items()}
        lines = values["Lines"] or ""
        rows.append({"body": body, **values, "Lines": int(lines) if lines.strip().isdecimal() else None})
    kinds = {"text": ["body", "Organization"], "numeric": ["Lines"], "categorical": []}
    return pl.DataFrame(rows).drop("Subject"), data["group"].to_numpy(), kinds


OUTCOMES = ["kept", "too small", "broken", "changed mind"]
PRODUCTS = ("shirt", "lamp", "kettle", "jacket", "mug", "chair", "boots", "radio", "scarf", "clock")
WORDS = {
    "kept": ("thanks", "great", "perfect", "happy", "lovely", "gift", "quick", "fine"),
    "too small": ("tight", "size", "fit", "larger", "narrow", "short", "sleeve", "tag"),
    "broken": ("crack", "scratch", "loose", "noise", "dent", "leak", "missing", "part"),
    "changed mind": ("colour", "different", "expected", "cheaper", "elsewhere", "twice", "wrong", "regret"),
}
FILLER = (
    *("the", "my", "a", "please", "it", "is", "and", "on", "order", "with", "since", "for", "to", "of"),
    *("arrived", "box", "parcel", "this", "was", "i"),
)
CITIES = [
    a + b
    for a in ("Al", "Be", "Cor", "Dun", "El", "Far", "Gil", "Hol")
    for b in ("ham", "ton", "ville", "burg")
]


def orders(n: int = 16_000) -> Loaded:
    """Return generated orders of a shop."""
    draw = random.Random(0)
    of_city = {city: draw.gauss(0.0, 0.7) for city in CITIES}
    customers = [f"c{k}" for k in range(3_000)]
    rows, labels = [], []
    for _ in range(n):
        price, days = round(draw.lognormvariate(3.2, 0.9), 2), int(draw.expovariate(0.1))
        when = date(2025, 1, 1) + timedelta(draw.randrange(600))
        product, city = draw.choice(PRODUCTS), draw.choice(CITIES)
        express = draw.random() < 0.3
        # Few days and many make a return likelier; express helps for high prices only.
        eta = {
            "kept": 1.0 + of_city[city],
            "too small": 1.5 * (product in ("shirt", "jacket", "boots", "scarf")) - 0.5 * (when.month > 9),
            "broken": 0.05 * abs(days - 12) - 0.7 + 1.2 * (product in ("mug", "kettle", "clock", "lamp")),
            "changed mind": 0.9 * np.log(price / 25)
            + 0.6 * (when.weekday() >= 5)
            - 1.0 * (express and price > 40),
        }
        weights = [np.exp(eta[name]) for name in OUTCOMES]
        label = draw.choices(OUTCOMES, weights)[0]
        about = label if draw.random() < 0.5 else draw.choice(OUTCOMES)
        words = draw.choices(WORDS[about], k=draw.choice((0, 1, 1, 2))) + draw.choices(FILLER, k=8)
        draw.shuffle(words)
        rows.append(
            {
                "note": " ".join(words),
                "product": f"{draw.choice(('red', 'blue', 'green', 'small', 'large'))} {product}",
                "price": None if draw.random() < 0.1 else price,
                "days": None if draw.random() < (0.3 if label == "kept" else 0.1) else days,
                "ordered": when,
                "city": city,
                "customer": draw.choice(customers),
                "express": express,
                "warehouse_temperature": round(draw.gauss(18, 3), 1),
            }
        )
        labels.append(label)
    kinds = {
        "text": ["note", "product"],
        "numeric": ["price", "days", "warehouse_temperature"],
        "categorical": ["city", "customer", "express"],
    }
    return pl.DataFrame(rows), np.array(labels), kinds


TABLES: dict[str, Callable[[], Loaded]] = {
    "Debian's packages": debian,
    "20 newsgroups": newsgroups,
    "generated orders": orders,
}


def filled(data: pl.DataFrame, kinds: dict[str, list[str]]) -> pd.DataFrame:
    """Return a data frame as scikit-learn's transformers take it."""
    frame = data.to_pandas()
    for name in kinds["text"]:
        frame[name] = frame[name].fillna("")
    for name in data.columns:
        if name in kinds["categorical"]:
            frame[name] = frame[name].astype(object).where(frame[name].notna(), "missing").astype(str)
        elif data[name].dtype.is_temporal():
            when = pd.to_datetime(frame[name])
            frame[f"{name} day"] = (when - pd.Timestamp("1970-01-01")).dt.days.astype(float)
            frame[f"{name} weekday"] = when.dt.day_of_week.astype(str)
    return frame


def linear(X: pl.DataFrame, y: np.ndarray, X_test: pl.DataFrame, kinds: dict[str, list[str]]) -> Any:
    """Return classes and their probabilities for test rows by a linear model of scikit-learn."""
    A, B = filled(X, kinds), filled(X_test, kinds)
    days = [name for name in A.columns if name.endswith(" day")]
    weekdays = [name for name in A.columns if name.endswith(" weekday")]
    ranks = QuantileTransformer(n_quantiles=min(1000, len(A)))
    numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), ranks)
    parts: list[tuple[str, Any, Any]] = [
        (name, TfidfVectorizer(sublinear_tf=True), name) for name in kinds["text"]
    ]
    parts.append(("numbers", numbers, [*kinds["numeric"], *days]))
    categories = [*kinds["categorical"], *weekdays]
    if categories:
        parts.append(("categories", OneHotEncoder(handle_unknown="ignore"), categories))
    common = np.bincount(np.unique(y, return_inverse=True)[1]).max() >= 5
    folds = 5 if len(A) <= FEW else 3
    splits = list((StratifiedKFold if common else KFold)(folds, shuffle=True, random_state=0).split(A, y))
    folds_of, losses = [], np.full(len(CS), np.inf)
    for train, test in splits:
        made = ColumnTransformer(parts)
        model = LogisticRegression(max_iter=200 if len(A) <= FEW else 100, warm_start=True)
        folds_of.append(
            (made.fit_transform(A.iloc[train]), y[train], made.transform(A.iloc[test]), y[test], model)
        )
    for c, C in enumerate(CS):
        losses[c] = 0.0
        for F, of_train, G, of_test, model in folds_of:
            model.set_params(C=C).fit(F, of_train)
            losses[c] += scores(model.classes_, model.predict_proba(G), of_test)[0] * len(of_test)
        if (
            c >= 2 and losses[c] > losses[c - 1] > losses[c - 2]
        ):  # larger ones would be worse, and take longest
            break
    made = ColumnTransformer(parts)
    model = LogisticRegression(C=CS[int(losses.argmin())], max_iter=1000).fit(made.fit_transform(A), y)
    return model.classes_, model.predict_proba(made.transform(B))


def boosted(X: pl.DataFrame, y: np.ndarray, X_test: pl.DataFrame, kinds: dict[str, list[str]]) -> Any:
    """Return classes and their probabilities for test rows by skrub's default pipeline."""
    import skrub  # type: ignore[import-not-found, unused-ignore]

    model = skrub.tabular_pipeline("classifier").fit(X.to_pandas(), y)
    return model.classes_, model.predict_proba(X_test.to_pandas())


def ours(X: pl.DataFrame, y: np.ndarray, X_test: pl.DataFrame, kinds: dict[str, list[str]]) -> Any:
    """Return classes and their probabilities for test rows by our classifier, which finds the columns."""
    model = TableClassifier(n_jobs=-1).fit(X, y)
    return model.classes_, model.predict_proba(X_test)


METHODS = {
    "ColumnTransformer, LogisticRegression": linear,
    "skrub.tabular_pipeline, boosting": boosted,
    "TableClassifier": ours,
}


def scores(classes: np.ndarray, P: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Return the log loss and the accuracy in per cent."""
    place = {label: k for k, label in enumerate(classes.tolist())}
    known = np.array([place.get(label, -1) for label in y.tolist()])
    p = np.where(known >= 0, P[np.arange(len(y)), known], 0.0)
    return float(-np.log(np.clip(p, SMALLEST, 1.0)).mean()), 100.0 * float((P.argmax(axis=1) == known).mean())


def results(name: str, n: int, method: str) -> list[list[float]]:
    """Return log loss, accuracy and seconds of each split, stored ones or new ones."""
    found = []
    for seed in range(SEEDS.get(n, 1)):
        stored = json.loads(STORED.read_text()) if STORED.exists() else {}
        key = f"{name}, {n}, {seed}, {method}"
        if key not in stored:
            data, y, kinds = TABLES[name]()
            order = np.random.default_rng(seed).permutation(len(data))
            test, some = order[:TEST], order[TEST : TEST + n]
            start = time.perf_counter()
            with threadpool_limits(1, "blas"), warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                warnings.simplefilter("ignore", UserWarning)
                classes, P = METHODS[method](data[some], y[some], data[test], kinds)
            seconds = time.perf_counter() - start
            own = [*scores(classes, P, y[test]), seconds]
            stored = json.loads(STORED.read_text()) if STORED.exists() else {}
            STORED.parent.mkdir(exist_ok=True)
            STORED.write_text(json.dumps(stored | {key: own}, indent=0))
            print(key, *(f"{one:.4f}" for one in own), flush=True)
        else:
            own = stored[key]
        found.append(own)
    return found


def main(sizes: tuple[int, ...], methods: tuple[str, ...]) -> None:
    rows = []
    for n, name in product(sizes, TABLES):
        for method in methods:
            loss, accuracy, seconds = np.mean(results(name, n, method), axis=0)
            rows.append([name, f"{n:,}", method, f"{loss:.4f}", f"{accuracy:.1f}", f"{seconds:.1f}"])
    rows.sort(key=lambda row: list(TABLES).index(row[0]))
    print(table(HEADER, rows))
    if sizes == SIZES and methods == tuple(METHODS):
        fill(ROOT / "docs" / "guides" / "columns.md", "columns", table(HEADER, rows))


if __name__ == "__main__":
    given = sys.argv[1:]
    only = tuple(given[k + 1] for k, one in enumerate(given) if one == "--only")
    given = [one for k, one in enumerate(given) if one != "--only" and given[k - 1 : k] != ["--only"]]
    main(tuple(map(int, given)) or SIZES, only or tuple(METHODS))
