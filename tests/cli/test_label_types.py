"""Labels are the same classes in all formats and commands, and predictions have their types."""

import json
import warnings

import pytest
from dask.distributed import LocalCluster

from dropglm import TextClassifier, load_model
from dropglm.cli.label import texts_and_labels
from dropglm.tables import Table, class_names
from tests.cli.command import dropglm, run
from tests.tables.rows import written

LABELS = {
    "fractions": (0.5, 1.5),
    "integers": (0, 1),
    "truth values": (False, True),
    "strings of digits": ("01", "1"),
    "strings": ("bad", "good"),
}
TEXTS = ["dull and long film", "lovely and warm film"]


@pytest.mark.parametrize("online", [False, True], ids=["in memory", "online"])
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_of_json_lines_keep_their_types(tmp_path, labels, online):
    rows = [{"text": text, "label": label} for text, label in zip(TEXTS, labels, strict=True)] * 10
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    dropglm("train", "t.jsonl", "--out", "m.skops", "--online" if online else "--no-tune", cwd=tmp_path)
    out = dropglm("predict", "m.skops", "t.jsonl", cwd=tmp_path)
    predicted = [json.loads(line)["predicted"] for line in out.splitlines()]
    assert predicted == [row["label"] for row in rows]
    assert {type(label) for label in predicted} == {type(label) for label in labels}


@pytest.fixture(scope="module")
def address():
    settings = {"processes": False, "protocol": "tcp", "dashboard_address": ":0"}
    with LocalCluster(n_workers=1, threads_per_worker=1, **settings) as cluster:
        yield cluster.scheduler_address


COLUMNS = {
    "integers": ((0, 1), [0, 1]),
    "whole floats": ((1.0, 2.0), [1, 2]),
    "with and without fractions": ((1, 1.5), ["1", "1.5"]),
    "truth values": ((False, True), [False, True]),
    "numbers as strings": (("1.0", "2"), [1, 2]),
    "digits and letters": (("b", "01"), ["01", "b"]),
    "several types": (("a", 1.5), ["1.5", "a"]),
    "a number and a truth value": ((1, True), ["1", "true"]),
}
FORMATS = ["csv", "tsv", "jsonl", "parquet"]
SEVERAL_TYPES = {"several types", "a number and a truth value"}  # not in one column of a Parquet file
# Text has no types, so one column is enough for each of its formats; every column as JSON and as Parquet.
CASES = [
    pytest.param(*COLUMNS[name], format, id=f"{name}, {format}")
    for name in COLUMNS
    for format in FORMATS
    if not (name in SEVERAL_TYPES and format == "parquet")
    and (format in ("jsonl", "parquet") or name in ("with and without fractions", "numbers as strings"))
]


@pytest.mark.parametrize(("labels", "classes", "format"), CASES)
def test_all_commands_give_the_same_classes(tmp_path, address, labels, classes, format):
    """In memory, online from a file and from a pipe, continued, and on Dask; each evaluated on its table."""
    table = f"t.{format}"
    (tmp_path / table).write_bytes(written(TEXTS * 10, [*labels] * 10, format))
    names = ",".join(map(str, class_names(classes)))
    common = (table, "--quiet", "--out")
    dropglm("train", *common, "memory.skops", "--no-tune", cwd=tmp_path)
    dropglm("train", *common, "online.skops", "--online", cwd=tmp_path)
    dropglm("train", *common, "more.skops", "--online", "--start-from", "memory.skops", cwd=tmp_path)
    dropglm("train", *common, "dask.skops", "--no-tune", "--dask", address, cwd=tmp_path)
    piped = ("train", "-", "--format", format, "--online", "--classes", names, "--out", "pipe.skops")
    dropglm(*piped, "--quiet", cwd=tmp_path, stdin=(tmp_path / table).read_bytes())
    for model in ("memory", "online", "more", "dask", "pipe"):
        found = load_model(tmp_path / f"{model}.skops").classes_.tolist()
        assert (found, list(map(type, found))) == (classes, list(map(type, classes)))
        report = json.loads(dropglm("evaluate", f"{model}.skops", table, "--json", cwd=tmp_path))
        assert (report["unknown_labels"], report["accuracy"]) == (0, 1.0)
        out = dropglm("predict", f"{model}.skops", table, cwd=tmp_path)
        predicted = [json.loads(line)["predicted"] for line in out.splitlines()]
        assert class_names(predicted) == class_names(labels) * 10
    _, known, *_ = texts_and_labels(Table(tmp_path / table, "text", "label"))
    assert list(known.values()) == class_names(labels) * 10


@pytest.mark.parametrize("format", FORMATS)
def test_a_model_is_evaluated_on_a_table_of_another_format(tmp_path, format):
    (tmp_path / "t.csv").write_bytes(written(TEXTS * 10, [1.0, 1.5] * 10, "csv"))
    dropglm("train", "t.csv", "--quiet", "--no-tune", "--out", "m.skops", cwd=tmp_path)
    for labels in ([1, 1.5], [1.0, 1.5]):
        (tmp_path / f"u.{format}").write_bytes(written(TEXTS, labels, format))
        report = json.loads(dropglm("evaluate", "m.skops", f"u.{format}", "--json", cwd=tmp_path))
        assert report["accuracy"] == 1.0


def test_classes_of_a_model_trained_in_python_stay_apart(tmp_path):
    y = ["1", "1.0"]
    TextClassifier(tune=False, min_df=1).fit(TEXTS, y).save(tmp_path / "m.skops")
    (tmp_path / "t.txt").write_text("\n".join(TEXTS))
    out = dropglm("predict", "m.skops", "t.txt", cwd=tmp_path)
    assert [json.loads(line)["predicted"] for line in out.splitlines()] == y


@pytest.mark.parametrize("mode", ["--no-tune", "--online", "--dask"])
def test_training_hints_at_labels_that_look_alike_or_mark_missing_labels(tmp_path, address, mode):
    labels = ["caf\u00e9", "cafe\u0301", "NA", "bar"]
    (tmp_path / "t.csv").write_bytes(written(TEXTS * 20, labels * 10, "csv"))
    options = ("--no-tune", mode, address) if mode == "--dask" else (mode,)
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # as outside of tests
        done = run("train", "t.csv", *options, "--quiet", "--out", "m.skops", cwd=tmp_path)
    assert done.exit_code == 0, done.stderr
    count = "" if mode == "--online" else " (10 texts)"
    composed, decomposed, mark = (f"{name}{count}" for name in ("'café'", "'cafe\\u0301'", "'NA'"))
    alike, missing = (line for line in done.stderr.splitlines() if "warning: " in line)
    assert composed in alike
    assert decomposed in alike
    assert f"The class {mark} may mark texts without a label. If so, leave the label empty in the" in missing
