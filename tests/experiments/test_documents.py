"""Every experiment has a page in docs/, and the script that writes its results changes nothing else."""

from pathlib import Path

import pytest
from benchmarks import results
from benchmarks.markdown import ROOT, fill
from benchmarks.results import write

from dropglm.experiments import EXPERIMENTS, ExperimentRun
from tests.experiments.toys import Toy

START, STOP = "<!-- results: start -->", "<!-- results: stop -->"
TOYS = {"first": Toy(), "second": Toy(title="Squares again")}
DOCUMENTS = ["docs/paper/first.md", "docs/paper/second.md", "docs/results.md"]


@pytest.mark.parametrize("path", ["docs/results.md", *(f"docs/paper/{x}.md" for x in EXPERIMENTS)])
def test_documents_have_marks_for_results(path):
    text = (ROOT / path).read_text(encoding="utf-8")
    assert text.count(START) == text.count(STOP) == 1
    assert text.index(START) < text.index(STOP)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_pages_state_the_current_protocol_of_their_experiment(name):
    text = (ROOT / "docs" / "paper" / f"{name}.md").read_text(encoding="utf-8")
    assert text.partition(f"{START}\n")[2].startswith(f"{EXPERIMENTS[name].protocol}\n\n")


def test_the_summary_links_to_every_page_by_its_title():
    text = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    for name, experiment in EXPERIMENTS.items():
        assert f"- [{experiment.title}](paper/{name}.md)\n" in text


def test_every_page_belongs_to_an_experiment():
    assert {path.stem for path in (ROOT / "docs" / "paper").glob("*.md")} == set(EXPERIMENTS)


@pytest.fixture
def root(tmp_path):
    (tmp_path / "docs" / "paper").mkdir(parents=True)
    (tmp_path / "lines").mkdir()
    for path in DOCUMENTS:
        (tmp_path / path).write_text(f"# Title\n\nWords.\n\n{START}\nold\n{STOP}\n\nMore.\n")
    return tmp_path


def written(root: Path, messages=None):
    write(root, root / "lines", TOYS, tell=(messages if messages is not None else []).append)
    return {path: (root / path).read_text() for path in DOCUMENTS}


def test_blocks_are_replaced_the_same_way_each_time(root):
    for name, experiment in TOYS.items():
        ExperimentRun(name, experiment, root / "lines").run()
    messages = []
    texts = written(root, messages)
    assert messages == []
    for text in texts.values():
        assert text.startswith(f"# Title\n\nWords.\n\n{START}\n")
        assert text.endswith(f"\n{STOP}\n\nMore.\n")
        assert "old" not in text
    assert "It squares.\n\n6 fits in less than a second, with dropglm" in texts["docs/paper/first.md"]
    assert (
        "## Squares by seed\n\n| data | square |\n| --- | --- |\n| one | 0 |" in texts["docs/paper/first.md"]
    )
    assert "| second: largest square | 4.00 | 4.00 | 0.25 | +0.00 |" in texts["docs/results.md"]
    assert "- [Squares again](paper/second.md)" in texts["docs/results.md"]
    assert written(root) == texts


def test_pages_of_experiments_that_were_not_run_stay_as_they_are(root):
    ExperimentRun("first", TOYS["first"], root / "lines").run()
    messages = []
    texts = written(root, messages)
    assert ["old" in texts[path] for path in DOCUMENTS] == [False, True, True]
    assert messages[0].startswith("docs/paper/second.md is unchanged: ")
    assert messages[0].endswith("lacks 6 results of second.")
    assert messages[1] == "docs/results.md is unchanged."


def test_the_first_figures_are_stored_beside_the_page_and_are_the_same_each_time(root, monkeypatch):
    monkeypatch.setattr(results, "PICTURED", {"first": 1})
    ExperimentRun("first", TOYS["first"], root / "lines").run()
    folder = root / "docs" / "paper"
    text = written(root)["docs/paper/first.md"]
    assert "![Squares, twice.](first-1.svg)\n![Squares, twice.](first-2.svg)\n\nSquares, twice.\n" in text
    pictures = [path.read_bytes() for path in sorted(folder.glob("*.svg"))]
    assert len(pictures) == 2
    written(root)
    assert [path.read_bytes() for path in sorted(folder.glob("*.svg"))] == pictures


def test_an_incomplete_run_changes_no_document(root):
    for name, experiment in TOYS.items():
        ExperimentRun(name, experiment, root / "lines").run()
    lines = (root / "lines" / "first.jsonl").read_text().splitlines(keepends=True)
    (root / "lines" / "first.jsonl").write_text("".join(lines[1:]))  # of the subset
    assert ["old" in text for text in written(root).values()] == [True, False, True]


def test_a_complete_subset_is_enough_for_a_page(root):
    for name, experiment in TOYS.items():
        ExperimentRun(name, experiment, root / "lines").run()
    lines = (root / "lines" / "first.jsonl").read_text().splitlines(keepends=True)
    (root / "lines" / "first.jsonl").write_text("".join(lines[:-1]))
    assert ["old" in text for text in written(root).values()] == [False, False, True]


def test_a_subset_may_stand_beside_older_results_until_there_are_new_ones(root):
    for name, experiment in TOYS.items():
        ExperimentRun(name, experiment, root / "lines").run()
    page, lines = root / "docs" / "paper" / "first.md", root / "lines" / "first.jsonl"
    page.write_text(page.read_text() + "<!-- subset: start -->\n<!-- subset: stop -->\n")
    complete = lines.read_text()
    lines.write_text("".join(complete.splitlines(keepends=True)[:-1]))
    results_block, _, subset = written(root)["docs/paper/first.md"].partition("<!-- subset: start -->")
    assert "old" in results_block
    assert "5 of 6 fits are available." in subset
    lines.write_text(complete)
    results_block, _, subset = written(root)["docs/paper/first.md"].partition("<!-- subset: start -->")
    assert "old" not in results_block
    assert subset == "\n\n<!-- subset: stop -->\n"


@pytest.mark.parametrize("text", ["none", START, f"{STOP}{START}", f"{START}{STOP}{START}{STOP}"])
def test_a_document_without_marks_is_refused(tmp_path, text):
    path = tmp_path / "page.md"
    path.write_text(text)
    with pytest.raises(ValueError, match="must have exactly one"):
        fill(path, "results", "new")
    assert path.read_text() == text
