"""``dropglm train --second-label``: the same model as in Python, and refusals."""

import json

import numpy as np
import polars as pl
import pytest

from dropglm import TextClassifier, load_model
from tests.cli.command import dropglm

pytestmark = pytest.mark.filterwarnings("ignore:The .* texts without labels did not improve")


def tickets(folder):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=240)
    words = [[f"{name}{k}" for k in range(20)] for name in ("bug", "billing")]
    texts = [" ".join([*rng.choice(words[k], 2), *rng.choice([f"w{j}" for j in range(40)], 4)]) for k in y]
    names = np.array(["bug", "billing"])
    table = pl.DataFrame(
        {
            "text": texts,
            "label": [str(names[k]) if row < 30 else None for row, k in enumerate(y)],
            "model": names[np.where(rng.random(240) < 0.85, y, 1 - y)].tolist(),
            "rule": [str(names[k]) if row % 4 == 0 else None for row, k in enumerate(y)],
        }
    )
    table.write_csv(folder / "tickets.csv")
    return table


def test_a_command_trains_the_same_model_as_python(tmp_path):
    table = tickets(tmp_path)
    columns = ("--second-label", "model", "--second-label", "rule")
    report = json.loads(dropglm("train", "tickets.csv", *columns, "--json", "--quiet", cwd=tmp_path))
    model = TextClassifier().fit(
        table["text"], table["label"], second_labels={name: table[name] for name in ("model", "rule")}
    )
    assert report["second_hand"] == model.summary_.second_hand
    assert report["rows_without_label"] == 210
    new = ["bug3 w1", "billing2 w7"]
    loaded = load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(loaded.predict_proba(new), model.predict_proba(new))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--second-label", "label"), "is the column with the"),
        (("--second-label", "model", "--second-label", "model"), "names a column twice"),
        (("--second-label", "nothing"), "there is no column 'nothing'"),
        (("--second-label", "model", "--no-tune"), "needs the folds of the tuning"),
        (("--second-label", "model", "--online"), "cannot be used with --online"),
        (("--second-label", "model", "--dask", "local"), "cannot be used with --dask"),
    ],
)
def test_what_cannot_be_done_is_refused(tmp_path, options, message):
    tickets(tmp_path)
    code = 3 if "nothing" in options else 2
    assert message in " ".join(dropglm("train", "tickets.csv", *options, cwd=tmp_path, code=code).split())
