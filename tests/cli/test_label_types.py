"""Predicted labels have the types that the labels of the training table have."""

import json

import pytest

from tests.cli.command import dropglm, error_of

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


@pytest.mark.parametrize("online", [(), ("--online",), ("--online", "--classes", "1.5,a")], ids=str)
def test_labels_of_several_types_are_refused(tmp_path, online):
    rows = [{"text": text, "label": label} for text, label in zip(TEXTS, ("a", 1.5), strict=True)] * 10
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    error = error_of("train", "t.jsonl", "--quiet", *online, cwd=tmp_path)
    assert "t.jsonl: row 2 (line 2) has a number as its label, but row 1 has a string." in error


def test_numbers_with_and_without_fractions_are_labels_of_one_type(tmp_path):
    rows = [{"text": text, "label": label} for text, label in zip(TEXTS, (1, 1.5), strict=True)] * 10
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    dropglm("train", "t.jsonl", "--quiet", "--online", "--out", "m.skops", cwd=tmp_path)
