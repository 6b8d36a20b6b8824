"""Warnings of the library are sentences on standard error."""

import warnings

import pytest

from dropglm import TextClassifier
from tests.cli.command import run, texts, write_csv


@pytest.fixture(autouse=True)
def _as_in_a_process():
    """Show warnings, as outside of tests."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        yield


@pytest.mark.parametrize("mode", ["--no-tune", "--online"])
def test_classes_that_differ_only_in_case_get_a_hint(tmp_path, mode):
    some, labels = texts(40)
    labels = [label.title() if k % 8 == 0 else label for k, label in enumerate(labels)]
    write_csv(tmp_path / "t.csv", zip(some, labels, strict=True))
    done = run("train", "t.csv", mode, "--out", "m.skops", "--quiet", cwd=tmp_path)
    assert done.exit_code == 0
    counts = [" (5 texts)", " (15 texts)"] if mode == "--no-tune" else ["", ""]
    good, other = (f"{name!r}{count}" for name, count in zip(["Good", "good"], counts, strict=True))
    (line,) = [line for line in done.stderr.splitlines() if "differ only" in line]
    assert line.startswith("dropglm: warning: Some classes differ only in case or whitespace, or ")
    assert good in line
    assert other in line


def test_warnings_of_a_fit_are_shown_once_and_do_not_end_the_command(place, monkeypatch):
    fit = TextClassifier.fit

    def warn_and_fit(self, *arguments, **settings):
        for _ in range(3):
            warnings.warn("l2 = 0.3 is at the edge of its grid.", stacklevel=2)
        return fit(self, *arguments, **settings)

    monkeypatch.setattr(TextClassifier, "fit", warn_and_fit)
    done = run("train", "reviews.csv", "--no-tune", "--out", "w.skops", "--quiet", cwd=place)
    assert done.exit_code == 0
    assert done.stderr == "dropglm: warning: l2 = 0.3 is at the edge of its grid.\n"
