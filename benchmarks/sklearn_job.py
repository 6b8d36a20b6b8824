"""What a user of scikit-learn would write: tf-idf and LogisticRegressionCV, from a table to a model file.

    python sklearn_job.py train TABLE MODEL SETTINGS
    python sklearn_job.py score TABLE MODEL

SETTINGS is a JSON object: ``tfidf`` and ``logistic`` hold arguments of the two classes, ``float32`` makes
tf-idf return float32. A score is printed as JSON.
"""

import json
import pickle
import sys
from typing import Any

import numpy as np
import polars as pl
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegressionCV
from sklearn.pipeline import make_pipeline


def train(table: str, path: str, settings: dict[str, Any]) -> None:
    data = pl.read_csv(table)
    tfidf = TfidfVectorizer(dtype=np.float32 if settings["float32"] else np.float64, **settings["tfidf"])
    if "ngram_range" in settings["tfidf"]:
        tfidf.set_params(ngram_range=tuple(settings["tfidf"]["ngram_range"]))  # JSON has no tuples
    search = LogisticRegressionCV(
        Cs=10, max_iter=1000, l1_ratios=(0,), use_legacy_attributes=False, **settings["logistic"]
    )
    model = make_pipeline(tfidf, search).fit(data["text"].to_list(), data["label"].to_list())
    with open(path, "wb") as file:
        pickle.dump(model, file)


def score(table: str, path: str) -> None:
    from sklearn.metrics import log_loss

    data = pl.read_csv(table)
    with open(path, "rb") as file:
        model = pickle.load(file)
    p, y = model.predict_proba(data["text"].to_list()), data["label"].to_list()
    accuracy = float(np.mean(model.classes_[p.argmax(axis=1)] == y))
    print(json.dumps({"accuracy": accuracy, "log_loss": float(log_loss(y, p, labels=model.classes_))}))


if __name__ == "__main__":
    task, table, path, *settings = sys.argv[1:]
    if task == "train":
        train(table, path, json.loads(settings[0]))
    else:
        score(table, path)
