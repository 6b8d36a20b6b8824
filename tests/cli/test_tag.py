"""``dropglm tag``: sentences in both formats, from training to evaluation."""

import json

import pytest

from dropglm import SequenceTagger
from tests.cli.command import dropglm, error_of

SENTENCES = [
    [("Anna", "NNP", "B-PER"), ("lives", "VBZ", "O"), ("in", "IN", "O"), ("Ulm", "NNP", "B-LOC")],
    [("Ulm", "NNP", "B-LOC"), ("is", "VBZ", "O"), ("near", "IN", "O"), ("Bonn", "NNP", "B-LOC")],
    [("Emmy", "NNP", "B-PER"), ("Noether", "NNP", "I-PER"), ("lives", "VBZ", "O")],
]


def conll(sentences, separator=" "):
    return "".join("".join(separator.join(token) + "\n" for token in one) + "\n" for one in sentences)


def jsonl(sentences):
    rows = (dict(zip(("tokens", "pos", "tags"), zip(*one, strict=True), strict=True)) for one in sentences)
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "train.txt").write_text("-DOCSTART- -X- O\n\n" + conll(SENTENCES))
    (tmp_path / "train.jsonl").write_text(jsonl(SENTENCES))
    (tmp_path / "new.txt").write_text("Anna NNP\nis VBZ\n\nBonn NNP\n")
    (tmp_path / "plain.txt").write_text("Anna\nis\n")
    return tmp_path


def train(folder, *arguments):
    return dropglm("tag", "train", *arguments, "--model", "model.skops", cwd=folder)


@pytest.mark.parametrize("separator", [" ", "\t", "   "])
def test_columns_between_tokens_and_tags_are_features(folder, separator):
    (folder / "train.txt").write_text(conll(SENTENCES, separator))
    assert "3" in train(folder, "train.txt")
    model = SequenceTagger.load(folder / "model.skops")
    assert "1[0]=NNP" in model._fitted.vocabulary
    assert model._fitted.columns == {"format": "conll", "token": 0, "tag": -1, "others": [1]}
    out = dropglm("tag", "predict", "model.skops", "new.txt", cwd=folder)
    assert out == "Anna NNP B-PER\nis VBZ O\n\nBonn NNP B-LOC\n\n"


def test_both_formats_give_the_same_model(folder):
    train(folder, "train.txt")
    first = SequenceTagger.load(folder / "model.skops")
    train(folder, "train.jsonl", "--column", "pos")
    second = SequenceTagger.load(folder / "model.skops")
    sentence = [[("Ulm", "NNP"), ("lives", "VBZ")]]
    assert (first.predict_marginals(sentence)[0] == second.predict_marginals(sentence)[0]).all()


def test_json_lines_keep_their_content(folder):
    train(folder, "train.jsonl", "--column", "pos")
    row = {"tokens": ["Ulm", "is"], "pos": ["NNP", "VBZ"], "id": 7}
    (folder / "new.jsonl").write_text(json.dumps(row) + "\n\n")
    dropglm("tag", "predict", "model.skops", "new.jsonl", "--out", "out.jsonl", cwd=folder)
    assert json.loads((folder / "out.jsonl").read_text()) == row | {"predicted": ["B-LOC", "O"]}


def test_standard_input_has_the_format_of_the_training_file(folder):
    train(folder, "train.txt")
    out = dropglm("tag", "predict", "model.skops", cwd=folder, stdin="Ulm NNP\n")
    assert out == "Ulm NNP B-LOC\n\n"


def test_evaluation_reports_tokens_and_entities(folder):
    train(folder, "train.txt")
    found = json.loads(dropglm("tag", "evaluate", "model.skops", "train.txt", "--json", cwd=folder))
    assert found["accuracy"] == 1.0
    assert found["tokens"] == 11
    assert found["entities"]["f1"] == 1.0
    assert found["entities"]["by_type"]["LOC"]["true"] == 3
    shown = dropglm("tag", "evaluate", "model.skops", "train.txt", cwd=folder)
    assert "F1 100.00" in shown
    assert "LOC" in shown


def test_tags_that_mark_no_entities_have_an_accuracy_only(folder):
    train(folder, "train.txt", "--tag", "1", "--column", "2")
    found = json.loads(dropglm("tag", "evaluate", "model.skops", "train.txt", "--json", cwd=folder))
    assert found == {"sentences": 3, "tokens": 11, "unknown_tags": 0, "accuracy": 1.0}


def test_unlabelled_sentences_and_unknown_tags(folder):
    partly = conll(SENTENCES).replace("lives VBZ O", "lives VBZ _")
    (folder / "partly.txt").write_text(partly)
    assert "and 2 without tags" in train(folder, "partly.txt", "--unlabeled", "new.txt")
    assert SequenceTagger.load(folder / "model.skops").tags_ == ["B-LOC", "B-PER", "I-PER", "O"]


@pytest.mark.parametrize(
    ("name", "content", "arguments", "sentence"),
    [
        ("bad.txt", "Ulm NNP O\nis O\n", (), "bad.txt, line 2 has 2 columns, but the first token has 3."),
        ("bad.txt", "Ulm\nis\n", (), "bad.txt has tokens and tags in the same column, 0; set --tag."),
        ("bad.txt", "Ulm O\n", ("--tag", "2"), "bad.txt has no column 2 for tags: its lines have 2 columns"),
        (
            "bad.txt",
            "Ulm O\n",
            ("--column", "5"),
            "bad.txt has no column 5 for features: its lines have 2 columns, counted from 0; set --column.",
        ),
        ("bad.txt", "Ulm O\n", ("--token", "word"), "Columns of CoNLL files are numbers"),
        ("bad.txt", "\n\n", (), "bad.txt has no sentence."),
        ("bad.txt", "Ulm O\n", (), "tags must have at least 2 different tags"),
        ("bad.txt", b"Ulm O\n\xff\xff O\n", (), "bad.txt, line 2 is not UTF-8"),
        ("bad.jsonl", "{}\n", (), "line 1 has no 'tokens' for tokens; set --token."),
        ("bad.jsonl", "[]\n", (), "bad.jsonl, line 1 is not a JSON object."),
        ("bad.jsonl", "{\n", (), "bad.jsonl, line 1 is not valid JSON"),
        ("bad.jsonl", '{"tokens": ["a"], "tags": []}', (), "'tags' is not a list with an entry per token"),
        ("bad.jsonl", '{"tokens": [1], "tags": ["O"]}', (), "'tokens' has an entry that is not a string"),
    ],
)
def test_bad_files_get_one_clear_sentence(folder, name, content, arguments, sentence):
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    error = error_of("tag", "train", name, "--model", "m.skops", "--quiet", *arguments, cwd=folder)
    assert sentence in error


def test_a_file_without_the_columns_of_the_model_is_refused(folder):
    train(folder, "train.txt")
    error = error_of("tag", "predict", "model.skops", "plain.txt", cwd=folder)
    assert "plain.txt has no column 1 for features: its lines have 1 column, counted from 0" in error


def test_a_file_of_the_other_format_needs_the_columns_of_the_model(folder):
    train(folder, "train.txt")
    error = error_of("tag", "predict", "model.skops", "train.jsonl", cwd=folder)
    assert "train.jsonl is not a conll file" in error
    out = dropglm("tag", "predict", "model.skops", "train.jsonl", "--column", "pos", cwd=folder)
    assert json.loads(out.splitlines()[0])["predicted"] == ["B-PER", "O", "O", "B-LOC"]


def test_sentences_without_known_tags_cannot_be_evaluated(folder):
    train(folder, "train.txt")
    (folder / "unknown.txt").write_text("Ulm NNP _\n")
    error = error_of("tag", "evaluate", "model.skops", "unknown.txt", cwd=folder)
    assert "unknown.txt: tags has no known tag." in error


def test_files_of_other_models_are_refused(folder):
    train(folder, "train.txt")
    assert "holds a model of kind 'SequenceTagger'" in error_of(
        "predict", "model.skops", "new.txt", cwd=folder
    )
    (folder / "text.skops").write_bytes(b"no model")
    assert "is not a dropglm model file" in error_of("tag", "predict", "text.skops", "new.txt", cwd=folder)


def test_an_unknown_format_is_a_usage_error(folder):
    assert "format" in dropglm(
        *("tag", "train", "train.txt", "--model", "m", "--format", "xml"), cwd=folder, code=2
    )


def test_tags_of_other_models_are_counted(folder):
    train(folder, "train.txt")
    (folder / "other.txt").write_text("Anna NNP B-ORG\nis VBZ O\n")
    found = json.loads(dropglm("tag", "evaluate", "-m", "model.skops", "other.txt", "--json", cwd=folder))
    assert (found["unknown_tags"], found["accuracy"]) == (1, 0.5)


def test_sentences_without_any_known_tag_are_read(folder):
    rows = [json.loads(line) for line in (folder / "train.jsonl").read_text().splitlines()]
    (folder / "some.jsonl").write_text(json.dumps(rows[0] | {"tags": None}) + "\n" + jsonl(SENTENCES))
    assert "4" in train(folder, "some.jsonl")
