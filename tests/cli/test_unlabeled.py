"""``dropglm train`` with unlabelled texts: its options, its line in the output, and its warning."""

import json
import warnings

import pytest

from tests.cli.command import dropglm, run

TRAIN = ("train", "reviews.csv", "--out", "u.skops", "--folds", "2", "--l2", "0.1", "--quiet")
MORE = ("--unlabeled", "more.jsonl")


@pytest.mark.filterwarnings("ignore:The .* texts without labels did not improve")
def test_options_limit_latent_features_and_rounds(place):
    found = json.loads(dropglm(*TRAIN, *MORE, "--latent", "3", "--rounds", "1", "--json", cwd=place))
    effect = found["unlabeled_effect"]
    assert effect["n_latent"] in (0, 3)
    assert effect["rounds"] <= 1
    assert effect["score_without"] <= 0.0
    shown = dropglm("explain", "u.skops", cwd=place)
    assert "unlabelled texts  log loss" in shown
    assert "PerBlock" not in shown


def test_a_warning_says_that_unlabelled_texts_did_not_help(place):
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        done = run(*TRAIN[:-1], *MORE, "--latent", "0", "--rounds", "0", cwd=place)
    assert done.exit_code == 0
    (line,) = (line for line in done.stderr.splitlines() if "warning" in line)
    assert line.startswith("dropglm: warning: The ")
    assert " texts without labels did not improve the cross-validated log loss (" in line
    assert "not used" in done.stdout


def test_another_column_of_the_unlabelled_table_can_be_named(place):
    (place / "body.csv").write_text("body\na lovely film\na dull one\n")
    message = dropglm(*TRAIN, "--unlabeled", "body.csv", cwd=place, code=3)
    assert "its columns: 'body'; name the column to use with --unlabeled-text." in message


@pytest.mark.parametrize("option", ["--latent", "--rounds"])
@pytest.mark.parametrize("others", [(), (*MORE, "--no-tune")])
def test_options_without_effect_are_refused(place, option, others):
    message = dropglm("train", "reviews.csv", option, "2", *others, cwd=place, code=2)
    assert option in message
    why = "cannot be used with --no-tune." if others else "needs --unlabeled, or rows without a label."
    assert why in " ".join(message.replace("│", " ").split())


def test_rounds_need_naive_bayes(place):
    message = dropglm("train", "reviews.csv", *MORE, "--rounds", "2", "--no-naive-bayes", cwd=place, code=2)
    assert "cannot be used with --no-naive-bayes" in " ".join(message.replace("│", " ").split())
