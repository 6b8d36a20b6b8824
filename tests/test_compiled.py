"""Nothing that defaults reach is compiled in front of the user.

Only functions for the baseline processor count, as in a wheel: others may have been compiled by other tests.
"""

import os
import subprocess
import sys

import pytest

from dropglm.compiling import JOBS, baseline_environment
from dropglm.core.maths.kernel_files import SHIPPED, usable_files

START = """
import os, sys, warnings
import numpy as np
from scipy.sparse import random_array
from dropglm.core.maths.compile import KernelCompiler
from dropglm.core.maths.kernel_files import reason_to_compile

def refuse(self, function):
    name = f"{function.__module__}.{function.__qualname__}"
    print(f"compiles {name}{self.state.args}, since {reason_to_compile()}", file=sys.stderr, flush=True)
    os._exit(1)  # from any thread

KernelCompiler.compile_extra = refuse
warnings.simplefilter("ignore")
rng = np.random.default_rng(1)
"""
DOCSTRINGS = """
from dropglm import load_dataset
data = load_dataset("docstrings")
texts, y = list(data.texts[:400]), list(data.y[:400])
"""
MATRICES = """
from dropglm import LatentFeatures, LinearRegression, LogisticRegression, LogisticRegressionCV
from dropglm import OnlineLogisticRegression, PoissonRegressor, noising_penalty
y = np.arange(90) % 3
for X in (rng.normal(size=(90, 7)), abs(random_array((90, 50), density=0.2, rng=rng, format="csr"))):
    for dtype in (np.float64, np.float32):
        for ones in (False, True):
            Z = (X != 0).astype(dtype) if ones else X.astype(dtype)
"""
PROGRAMS = {
    "fits": MATRICES
    + """
            for estimator in (LogisticRegression, LinearRegression, PoissonRegressor):
                estimator().fit(Z, y).predict(Z)
                estimator(dropout=0.3, l2=0.1).fit(Z, y % 2, X_unlabeled=Z).predict(Z)
            for expectation in ("gaussian", "quadratic", "exact"):
                settings = {"expectation": expectation, "return_gradient": True}
                noising_penalty(np.ones(Z.shape[1], dtype), Z, dropout=0.5, **settings)
""",
    "searches": MATRICES
    + """
            for labels in (y, y % 2):
                LogisticRegressionCV(n_jobs=2).fit(Z, labels, X_unlabeled=Z).predict_proba(Z)
""",
    "online": MATRICES
    + """
            for labels in (y, y % 2):
                OnlineLogisticRegression().fit(Z, labels).partial_fit(Z, labels).predict_proba(Z)
"""
    + DOCSTRINGS
    + """
from dropglm import OnlineTextClassifier
OnlineTextClassifier().partial_fit(texts, y, classes=np.unique(y)).predict(texts)
""",
    "sequences": """
from dropglm import SequenceTagger
rng = np.random.default_rng(0)
words = [[str(word) for word in rng.integers(0, 50, rng.integers(1, 9))] for _ in range(30)]
tags = [[word[0] for word in sentence] for sentence in words]
values = [[{word: 0.3} for word in sentence] for sentence in words]
for sentences in (words, values):
    model = SequenceTagger(n_jobs=2).fit(sentences, tags, X_unlabeled=sentences)
    model.predict(sentences)
    model.explain(sentences[0])
""",
    "texts": DOCSTRINGS
    + """
from dropglm import TextClassifier, load_model
model = TextClassifier().fit(texts[:100], y[:100], X_unlabeled=texts[100:])
model.save(sys.argv[1])
model = load_model(sys.argv[1])
model.predict_proba(texts[-5:])
model.explain(texts[0])
TextClassifier(tune=False).fit(texts, y).predict(texts[:2])
TextClassifier((3, 4), analyzer="char_wb", n_jobs=2).fit(texts[:100], y[:100]).predict(texts[:2])
""",
    "labelling": DOCSTRINGS
    + """
from dropglm.labelling import LabellingSession
with LabellingSession(texts, sys.argv[1], classes=sorted(set(map(str, y)))) as session:
    for number in range(30):
        session.answer(str(y[session.current.number]))
        session.wait(60)
    assert session.is_ready
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_defaults_compile_nothing(name, tmp_path):
    command = [sys.executable, "-c", START + PROGRAMS[name], str(tmp_path / "file")]
    done = subprocess.run(command, env=baseline_environment(), capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stderr}\nRun `dropglm compile` after a change of sources."


@pytest.mark.skipif(not os.environ.get("DROPGLM_DATA"), reason="DROPGLM_DATA is not set")
def test_many_texts_compile_nothing(tmp_path):
    """More rows than 16 bits can number, and more features than fit into the cache."""
    program = """
import polars as pl
from dropglm import LogisticRegression, NgramVectorizer, TextClassifier
texts = pl.read_parquet(sys.argv[2])["text"].head(70_000).to_list()
y = [len(text) % 2 for text in texts]
X = NgramVectorizer((1, 2), n_jobs=2).fit_transform([text[:200] for text in texts])
assert X.shape[0] > 1 << 16 and X.shape[1] > 4 * X.shape[0]
LogisticRegression(dropout=0.5, max_iter=6, n_jobs=2).fit(X, y)
TextClassifier(n_jobs=2).fit(texts[:50], y[:50], X_unlabeled=[text[:100] for text in texts])
"""
    data = os.path.join(os.environ["DROPGLM_DATA"], "imdb.parquet")
    command = [sys.executable, "-c", START + program, "", data]
    done = subprocess.run(command, env=baseline_environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_commands_compile_nothing(tmp_path):
    start = f"{START}\nsys.argv[0] = 'dropglm'\nfrom dropglm.cli import main\nmain()"
    (tmp_path / "sentences.txt").write_text("Ulm B-LOC\nis O\n\nNear O\nBonn B-LOC\n")
    for arguments, given in (
        ("data export docstrings", ""),
        ("train docstrings.csv --unlabeled docstrings_unlabeled.csv --out a.skops", ""),
        ("train docstrings.csv --online --out b.skops", ""),
        ("predict a.skops", "Split the string.\n"),
        ("predict b.skops docstrings.csv", ""),
        ("evaluate a.skops docstrings.csv", ""),
        ("tag train sentences.txt --model c.skops", ""),
        ("tag evaluate c.skops sentences.txt", ""),
    ):
        command = [sys.executable, "-c", start, *arguments.split()]
        done = subprocess.run(
            command, env=baseline_environment(), cwd=tmp_path, capture_output=True, text=True, input=given
        )
        assert done.returncode == 0, f"{arguments}: {done.stderr}"
        assert "compiling" not in done.stderr


def test_the_package_has_all_functions_of_all_jobs():
    names = {path.name.split(".cpython")[0].rsplit(".", 1)[0] for path in usable_files()}
    assert len(JOBS) > 5
    assert len(names) > 50
    assert SHIPPED.is_dir()
