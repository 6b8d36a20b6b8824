"""Rows without a label are unlabelled texts: the model is that of the same rows in two files, bit for bit."""

import json
from itertools import count

import numpy as np
import pytest
from dask.distributed import LocalCluster

from dropglm import load_model, tables
from tests.cli.command import dropglm, run, texts

pytestmark = pytest.mark.filterwarnings("ignore:The .* texts without labels did not improve")
FORMATS = ["csv", "tsv", "jsonl", "parquet", "csv.gz", "jsonl.gz"]
QUICK = "--folds", "2", "--l2", "0.1", "--rounds", "1", "--latent", "3", "--quiet"
GAPS = range(1, 60, 3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with tables in which every third label is missing, and the same rows in two tables."""
    folder = tmp_path_factory.mktemp("gaps")
    X, y = texts(60)
    labels = [None if k in GAPS else label for k, label in enumerate(y)]
    rows = {"text": X, "label": labels, "weight": [0.5 + k % 3 for k in range(60)]}
    kept = [k for k in range(60) if k not in GAPS]
    for format in FORMATS:
        tables.write(rows, folder / f"gaps.{format}")
        tables.write(
            {name: [column[k] for k in kept] for name, column in rows.items()}, folder / f"own.{format}"
        )
        tables.write({"text": [X[k] for k in GAPS]}, folder / f"without.{format}")
    tables.write({"text": texts(10, seed=4)[0]}, folder / "more.csv")
    return folder


NAMES = map("m{}.skops".format, count())


def trained(folder, *arguments, json_too=False):
    """Return the bytes of the model file, and the report if wanted."""
    name = next(NAMES)
    out = dropglm("train", *arguments, "--json", "--out", name, cwd=folder)
    data = (folder / name).read_bytes()
    return (data, json.loads(out)) if json_too else data


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("settings", [("--no-tune", "--quiet"), QUICK], ids=["fixed", "tuned"])
def test_a_table_with_gaps_gives_the_model_of_two_tables(folder, format, settings):
    more = ("--unlabeled", "more.csv")
    found, report = trained(folder, f"gaps.{format}", *more, *settings, json_too=True)
    assert found == trained(folder, f"own.{format}", "--unlabeled", f"without.{format}", *more, *settings)
    assert report["rows_without_label"] == len(GAPS)
    assert report["unlabeled"] == len(GAPS) + 10


@pytest.fixture(scope="module")
def address():
    settings = {"processes": False, "protocol": "tcp", "dashboard_address": ":0"}
    with LocalCluster(n_workers=1, threads_per_worker=1, **settings) as cluster:
        yield cluster.scheduler_address


@pytest.mark.parametrize(
    "format", ["csv", *(pytest.param(name, marks=pytest.mark.slow) for name in ("jsonl", "parquet"))]
)
def test_so_it_does_on_dask(folder, address, format):
    options = ("--unlabeled", "more.csv", "--weight", "weight", *QUICK, "--dask", address)
    found, report = trained(folder, f"gaps.{format}", *options, json_too=True)
    assert found == trained(folder, f"own.{format}", "--unlabeled", f"without.{format}", *options)
    assert report["rows_without_label"] == len(GAPS)
    local, _ = trained(folder, f"gaps.{format}", *options[:-2], json_too=True)
    (folder / "local.skops").write_bytes(local)
    (folder / "dask.skops").write_bytes(found)
    new, _ = texts(20, seed=5)
    p, expected = (load_model(folder / name).predict_proba(new) for name in ("dask.skops", "local.skops"))
    np.testing.assert_allclose(p, expected, atol=2e-3)


def test_a_line_of_the_report_says_how_many_they_are(folder):
    out = " ".join(dropglm("train", "gaps.csv", "--no-tune", "--out", "line.skops", cwd=folder).split())
    assert "without label 20 rows of the table, used as unlabelled texts" in out
    assert "40 with labels (bad 20, good 20), 20 without" in out
    out = dropglm("train", "own.csv", "--no-tune", "--out", "line.skops", cwd=folder)
    assert "without label" not in out


def test_the_share_for_validation_is_one_of_the_rows_with_labels(folder):
    options = ("--validation", "0.25", "--no-tune", "--weight", "weight")
    found, report = trained(folder, "gaps.csv", *options, json_too=True)
    assert report["validation"]["texts"] == 10
    assert report["validation"]["rows_without_label"] == 0
    same, other = trained(folder, "own.csv", "--unlabeled", "without.csv", *options, json_too=True)
    assert (found, report["validation"]) == (same, other["validation"])
    assert report["validation"]["weighted"]


def test_rows_of_another_table_for_validation_are_left_out(folder):
    found = run("train", "own.csv", "--validation", "gaps.csv", "--no-tune", "--out", "v.skops", cwd=folder)
    assert found.exit_code == 0
    assert "on 40 texts; 20 rows without a label left out" in " ".join(found.stdout.split())
    _, report = trained(folder, "own.csv", "--validation", "gaps.csv", "--no-tune", json_too=True)
    assert report["validation"]["rows_without_label"] == 20
    assert report["rows_without_label"] == 0


def test_embeddings_have_the_rows_of_the_whole_table(folder):
    rng = np.random.default_rng(0)
    E, F = rng.standard_normal((60, 4)), rng.standard_normal((10, 4))
    gaps = np.isin(np.arange(60), GAPS)
    for name, rows in {"E": E, "F": F, "own": E[~gaps], "without": E[gaps], "narrow": F[:, :3]}.items():
        np.save(folder / f"{name}.npy", rows)
    more = ("--unlabeled", "more.csv", "--embeddings-unlabeled", "F.npy")
    split = ("--unlabeled", "without.csv", "--embeddings-unlabeled", "without.npy")
    tune = ("--no-tune", "--validation", "0.25")
    found, report = trained(folder, "gaps.csv", "--embeddings", "E.npy", *more, *tune, json_too=True)
    own = ("own.csv", "--embeddings", "own.npy", *split, *more, *tune)
    expected, other = trained(folder, *own, json_too=True)
    assert (found, report["validation"]) == (expected, other["validation"])
    trained(folder, "gaps.csv", "--embeddings", "E.npy", *tune)  # nothing else is needed
    name = "embedded.skops"
    (folder / name).write_bytes(found)
    one = json.loads(dropglm("evaluate", name, "gaps.csv", "--embeddings", "E.npy", "--json", cwd=folder))
    two = json.loads(dropglm("evaluate", name, "own.csv", "--embeddings", "own.npy", "--json", cwd=folder))
    assert one["log_loss"] == two["log_loss"]
    error = dropglm(
        *("train", "gaps.csv", "--embeddings", "E.npy", *more[:3], "narrow.npy", "--quiet"),
        cwd=folder,
        code=3,
    )
    assert "--embeddings-unlabeled has 3 numbers per text, but --embeddings has 4." in error


def test_suspicious_labels_and_mistakes_name_the_rows_of_the_whole_table(folder):
    X, y = texts(60)
    labels = [None if k in GAPS else label for k, label in enumerate(y)]
    X[30], labels[30] = "lovely great fun moving warm", "bad"
    tables.write({"text": X, "label": labels}, folder / "wrong.csv")
    _, report = trained(folder, "wrong.csv", "--quiet", json_too=True)
    assert report["suspicious_labels"]["listed"][0]["row"] == 31
    assert report["suspicious_labels"]["listed"][0]["text"] == X[30]
    trained(folder, "own.csv", "--no-tune")
    dropglm("train", "own.csv", "--no-tune", "--out", "own.skops", cwd=folder)
    found = json.loads(dropglm("evaluate", "own.skops", "wrong.csv", "--json", cwd=folder))
    assert found["confident_mistakes"][0]["row"] == 31


def test_evaluate_leaves_them_out_and_counts_them(folder):
    trained(folder, "own.csv", "--no-tune")
    dropglm("train", "own.csv", "--no-tune", "--out", "own.skops", cwd=folder)
    found = json.loads(dropglm("evaluate", "own.skops", "gaps.jsonl", "--json", cwd=folder))
    expected = json.loads(dropglm("evaluate", "own.skops", "own.jsonl", "--json", cwd=folder))
    assert (found.pop("rows_without_label"), expected.pop("rows_without_label")) == (20, 0)
    assert found == expected
    out = " ".join(dropglm("evaluate", "own.skops", "gaps.csv", cwd=folder).split())
    assert "without label 20 rows of the table, left out" in out


@pytest.mark.parametrize("epochs", ["1", "2"])
def test_online_learning_skips_and_counts_them(folder, epochs, tmp_path):
    options = ("--online", "--bits", "10", "--epochs", epochs, "--quiet")
    found, report = trained(folder, "gaps.csv", *options, json_too=True)
    assert found == trained(folder, "own.csv", *options)
    assert (report["rows_without_label"], report["bad_rows"]) == (20, 0)
    out = dropglm("train", "gaps.csv", *options[:-1], "--out", "o.skops", cwd=folder)
    assert "20 rows of the table, skipped" in out


@pytest.mark.parametrize("mode", [("--no-tune",), ("--online",)])
@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_a_table_without_any_label_is_an_error(folder, mode, format):
    tables.write({"text": ["a", "b"], "label": [None, None]}, folder / f"none.{format}")
    error = dropglm("train", f"none.{format}", *mode, "--quiet", cwd=folder, code=3)
    expected = "no row has a label; the column 'label' is empty; name the column to use with --label."
    assert error == f"dropglm: none.{format}: {expected}\n"


def test_a_misspelled_key_is_found_in_json_lines(folder):
    (folder / "topic.jsonl").write_text('{"text": "a", "topic": 1}\n{"text": "b"}\n')
    error = dropglm("train", "topic.jsonl", "--label", "topics", "--quiet", cwd=folder, code=3)
    assert "there is no column 'topics' (did you mean 'topic'?); its columns: 'text', 'topic'." in error
    data = (folder / "topic.jsonl").read_bytes()
    piped = ("train", "-", "--format", "jsonl", "--quiet")
    error = dropglm(*piped, cwd=folder, stdin=data, code=3)
    assert "standard input: no row has a label; the column 'label' is empty; name the column" in error
