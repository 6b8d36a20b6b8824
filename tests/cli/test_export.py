"""``dropglm export`` and ``dropglm card``."""

import json

import pytest

from dropglm import load_model
from tests.cli.command import dropglm, error_of, run


def test_a_model_is_exported_to_all_formats_at_once(place):
    done = run(
        "export",
        "m.skops",
        "--onnx",
        "m.onnx",
        "--sklearn",
        "pipeline.skops",
        "--json",
        "m.json.gz",
        cwd=place,
    )
    assert done.exit_code == 0
    assert done.stderr.splitlines() == [
        f"dropglm: wrote {name}." for name in ("m.onnx", "m.json.gz", "pipeline.skops")
    ]
    import onnxruntime
    import skops.io

    model, texts = load_model(place / "m.skops"), ["a lovely film", "a dull film"]
    assert skops.io.load(place / "pipeline.skops").predict(texts).tolist() == model.predict(texts).tolist()
    label, _ = onnxruntime.InferenceSession(place / "m.onnx").run(None, {"text": texts})
    assert label.tolist() == ["good", "bad"]


def test_a_pickle_is_called_one(place):
    assert run("export", "m.skops", "--sklearn", "p.pkl", cwd=place).stderr == (
        "dropglm: wrote p.pkl, a pickle, which runs code when it is opened.\n"
    )


def test_what_a_file_still_needs_is_said(place):
    dropglm("train", "reviews.csv", "--no-tune", "--analyzer", "char", "--out", "char.skops", cwd=place)
    done = run("export", "char.skops", "--sklearn", "char.pipeline.skops", cwd=place)
    assert "still requires dropglm for dropglm.text.ngrams.tokens.Preprocessor" in done.stderr
    error = error_of("export", "char.skops", "--json", "char.json", cwd=place)
    assert "analyzer='char', which the JSON format does not support; export it to scikit-learn" in error
    assert not (place / "char.json").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "name at least one file to write"),
        (["--json", "m.skops"], "is also an input"),
        (["--json", "x.json", "--onnx", "x.json"], "x.json is also the file of --onnx"),
        (["--sklearn", "x.joblib"], "must end in .skops or .pkl"),
        (["--onnx", "-"], "standard output is not supported"),
        (["--onnx", "missing/x.onnx"], "cannot be written"),
    ],
)
def test_files_that_cannot_be_written_are_refused_first(options, message, place):
    error = dropglm("export", "m.skops", *options, cwd=place, code=2)
    assert message in " ".join(error.replace("│", " ").split())


def test_hashed_models_are_refused(place):
    dropglm("train", "reviews.csv", "--online", "--bits", "8", "--out", "hashed.skops", cwd=place)
    for option in ("--onnx", "--json"):
        error = error_of("export", "hashed.skops", option, "x.json", cwd=place)
        assert "hashes its n-grams" in error
        assert "train it without --online" in error
    assert "N-grams are hashed" in error_of("export", "hashed.skops", "--sklearn", "x.skops", cwd=place)
    page = dropglm("card", "hashed.skops", cwd=place)
    assert "- progressive: accuracy" in page


def test_a_card_says_what_the_file_knows(place):
    page = dropglm("card", "m.skops", cwd=place)
    assert page.startswith("# Model card: m\n")
    assert "| good | 40 | 50.0% |" in page
    assert "60 texts without labels were used as well." in page
    assert "columns of the training table were text (texts) and label (labels)" in page
    assert "None: the settings were given, so nothing was held out." in page
    assert "A text without known words is assigned to" in page
    assert dropglm("card", "m.skops", "--name", "a *star*", "--out", "card.md", cwd=place) == ""
    assert (place / "card.md").read_text(encoding="utf-8") == page.replace("card: m", r"card: a \*star\*")


def test_a_card_of_a_tuned_model_has_its_scores(place):
    dropglm("train", "reviews.csv", "--l2", "0.1", "--folds", "2", "--out", "tuned.skops", cwd=place)
    page = dropglm("card", "tuned.skops", cwd=place)
    assert "- cross-validation: log loss 0." in page
    assert "Probabilities were fitted to held-out texts" in page
    assert "without labels" not in page.partition("## Settings")[0]


def test_the_file_of_json_is_documented(place):
    """Every key of the file is explained on the page about exports."""
    dropglm("export", "m.skops", "--json", "m.json", cwd=place)
    content = json.loads((place / "m.json").read_text(encoding="utf-8"))
    from benchmarks.exports import PAGE

    page = PAGE.read_text(encoding="utf-8")
    for key in [*content, *content["tokens"], *content["lowercase"]]:
        assert f"`{key}`" in page, key
