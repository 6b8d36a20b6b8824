"""``dropglm train --group``: related texts and copies are held out together."""

import json

import numpy as np
import pytest
from dask.distributed import LocalCluster

from dropglm import TextClassifier, load_model
from tests.cli.command import dropglm, error_of, texts, write_csv

TRAIN = "train", "grouped.csv", "--out", "m.skops"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with 40 texts of ten authors, three copies, and one of them with another label."""
    folder = tmp_path_factory.mktemp("groups")
    X, y = texts(40)
    rows = [[text, label, f"author {k % 10}", k] for k, (text, label) in enumerate(zip(X, y, strict=True))]
    rows += [[X[k].upper(), y[k], f"author {k}", 40 + k] for k in range(2)]
    rows.append([X[2], "bad" if y[2] == "good" else "good", "author 2", 42])
    header = "text", "label", "author", "row"
    write_csv(folder / "grouped.csv", rows, header)
    write_csv(folder / "gap.csv", [*rows, ["a film", "good", " ", 43]], header)
    return folder


def rows_of(folder):
    lines = [line.split(",") for line in (folder / "grouped.csv").read_text().splitlines()[1:]]
    return [list(column) for column in zip(*lines, strict=True)]


def report(folder, *options):
    return json.loads(dropglm(*TRAIN, *options, "--json", "--quiet", cwd=folder))


def assert_same_search(found, expected):
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name] == (pytest.approx(value, rel=1e-3) if isinstance(value, float) else value)


def test_groups_are_those_of_the_column(folder):
    found = report(folder, "--group", "author")
    X, y, authors, _ = rows_of(folder)
    expected = TextClassifier(random_state=0).fit(X, np.array(y, object), groups=authors).summary_
    assert_same_search(found["search"], expected.search)
    assert found["search"]["groups"] == 10
    assert (found["copies"], found["contradictory"]) == (3, 1)
    assert load_model(folder / "m.skops").summary_.search["groups"] == 10
    assert report(folder)["search"]["groups"] == 40


def test_the_report_has_a_line_about_copies(folder):
    out = " ".join(dropglm(*TRAIN, "--folds", "3", "--group", "author", cwd=folder).split())
    line = (
        "3 of 43 texts repeat another one and are held out with it; 1 text has copies with different labels"
    )
    assert f"copies {line} " in out
    assert "over 3 folds of 10 groups" in out
    out = dropglm(*TRAIN, "--no-tune", cwd=folder)
    assert "3 of 43 texts repeat another one; 1 text" in " ".join(out.split())


@pytest.mark.parametrize("group", [(), ("--group", "author")])
def test_validation_holds_out_whole_groups(folder, group, monkeypatch):
    seen = {}
    fit = TextClassifier.fit

    def remember(self, X, y, **rest):
        seen.update(texts=X, groups=rest["groups"])
        return fit(self, X, y, **rest)

    monkeypatch.setattr(TextClassifier, "fit", remember)
    found = report(folder, "--validation", "0.3", "--no-tune", *group)
    X, _, authors, _ = rows_of(folder)
    held_out = [k for k, text in enumerate(X) if text not in seen["texts"]]
    assert found["validation"]["texts"] == len(held_out) == 43 - len(seen["texts"])
    trained = {text.lower() for text in seen["texts"]}
    assert trained.isdisjoint(X[k].lower() for k in held_out)
    if group:
        assert {authors[k] for k in held_out}.isdisjoint(seen["groups"])
        assert len({authors[k] for k in held_out}) == 3


def test_a_comparison_uses_the_groups(folder):
    found = report(folder, "--baseline", "--group", "author", "--folds", "3", "--l2", "1")
    assert found["baseline"]["folds"] == 3
    assert found["baseline"]["texts"] == 43


@pytest.mark.parametrize(
    ("options", "code", "sentence"),
    [
        (("--group", "writer"), 3, "there is no column 'writer'"),
        (("--group", "text"), 2, "'text' is the column with the texts."),
        (("--group", "label"), 2, "'label' is the column with the labels."),
        (("--group", "author", "--online"), 2, "cannot be used with --online."),
        (
            ("--group", "author", "--no-tune"),
            2,
            "the folds of the tuning, or --validation; drop --no-tune.",
        ),
    ],
)
def test_refusals_are_one_sentence(folder, options, code, sentence):
    error = dropglm(*TRAIN, *options, "--quiet", cwd=folder, code=code)
    assert sentence in " ".join(error.replace("│", " ").split())


def test_every_row_needs_a_group(folder):
    sentence = error_of("train", "gap.csv", "--group", "author", "--quiet", cwd=folder)
    assert "gap.csv: row 44 has no group (column 'author' is empty); give every row one" in sentence


def test_groups_on_dask_are_those_of_one_process(folder):
    expected = report(folder, "--group", "author")
    settings = {"processes": False, "protocol": "tcp", "dashboard_address": ":0"}
    with LocalCluster(n_workers=1, threads_per_worker=1, **settings) as cluster:
        address = cluster.scheduler_address
        found = report(folder, "--group", "author", "--dask", address)
        assert "row 44 has no group" in error_of(
            *("train", "gap.csv", "--group", "author", "--quiet", "--dask", address), cwd=folder
        )
    assert_same_search(found["search"], expected["search"])
    assert (found["copies"], found["contradictory"]) == (3, 1)
