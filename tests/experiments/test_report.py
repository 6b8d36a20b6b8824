"""The page of all experiments: self-contained, and made from stored results alone."""

import re

import pytest

from dropglm.experiments import Comparison, ExperimentRun, comparisons, report
from dropglm.experiments.report import running_times
from tests.experiments.toys import Toy, killed_after

TOYS = {
    "first": Toy(title="Squares & more"),
    "second": Toy(title="Squares again"),
    "third": Toy(has_quick=False),
}


def runs_of(folder, quick=False, **experiments):
    """Return runs with the results that the folder has."""
    return {name: ExperimentRun(name, each, folder, quick=quick) for name, each in experiments.items()}


def page_of(folder, quick=False, **experiments):
    return report(runs_of(folder, quick, **experiments), folder).read_text()


def run_toy(folder, name="toy", experiment=None, quick=False):
    ExperimentRun(name, experiment or Toy(), folder, quick=quick).run(tell=lambda sentence: None)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    out = tmp_path_factory.mktemp("report")
    for name in ("first", "second"):
        run_toy(out, name, TOYS[name])
    return page_of(out, **TOYS)


def test_it_is_made_from_stored_results_alone(tmp_path):
    run_toy(tmp_path)
    text = page_of(tmp_path, toy=Toy(killed_after(0), absent=("one", "two")))
    assert "It squares." in text
    assert "<td>4</td>" in text
    assert "6 fits in less than a second, with dropglm" in text


def test_it_is_the_same_each_time(tmp_path):
    run_toy(tmp_path)
    assert page_of(tmp_path, toy=Toy()) == page_of(tmp_path, toy=Toy())


def test_it_loads_nothing_from_elsewhere(text):
    assert not re.search(r"<(script|link|img|iframe|object|embed|image)\b", text)
    assert not re.search(r"\b(src|srcset|href|action|poster)=\"(?!#)", text)
    assert not re.search(r"url\((?!#)|@import", text)


def test_ids_are_unique_and_every_reference_has_its_target(text):
    """Matplotlib gives all figures the same ids; on one page each would use those of the first."""
    ids = re.findall(r"\bid=\"([^\"]*)\"", text)
    assert len(ids) == len(set(ids))
    references = re.findall(r"href=\"#([^\"]*)\"|url\(#([^)]*)\)", text)
    assert text.count("<svg") == 4
    assert len({link or url for link, url in references}) > 10
    assert {link or url for link, url in references} <= set(ids)


def test_the_contents_link_to_every_experiment_that_was_run(text):
    contents = re.search("<nav>.*?</nav>", text)[0]
    assert '<a href="#first">Squares &amp; more</a>' in contents
    assert '<a href="#second">Squares again</a>' in contents
    assert "<li>Squares (not run)</li>" in contents
    assert re.findall('<section id="(.*?)">', text) == ["summary", "first", "second", "times"]


def test_the_comparison_with_the_paper_comes_first(text):
    row = "<td>4.00</td><td>4.00</td><td>0.25</td><td>+0.00</td>"
    assert text.count(row) == 2
    assert (
        text.index("first: largest square") < text.index("second: largest square") < text.index("It squares.")
    )


@pytest.mark.parametrize(
    ("paper", "ours", "error", "shown"),
    [
        (0.73, 0.7349, 0.0041, ["0.73", "0.73", "0.004", "+0.00"]),
        (87.5, 87.494, None, ["87.50", "87.49", "-", "-0.01"]),
        (87.5, 87.496, 0.1, ["87.50", "87.50", "0.10", "+0.00"]),
        (80.0, 81.236, 0.0, ["80.00", "81.24", "0", "+1.24"]),
    ],
)
def test_the_gap_is_that_of_the_rounded_numbers(tmp_path, paper, ours, error, shown):
    experiment = Toy(comparison=Comparison("x", paper, ours, error))
    assert comparisons(runs_of(tmp_path, toy=experiment)).rows == []
    run_toy(tmp_path)
    assert comparisons(runs_of(tmp_path, toy=experiment)).rows == [["toy: x", *shown]]


def test_running_times_come_last(text, tmp_path):
    lines = {"first": [{"seconds": 30.0}, {"seconds": 45.0}], "second": [{"seconds": 3600.0}], "third": []}
    rows = [
        ["first", "2", "75 seconds"],
        ["second", "1", "60 minutes"],
        ["third", "0", "not run"],
        ["all", "3", "61 minutes"],
    ]
    assert running_times(runs_of(tmp_path, **TOYS), lines).rows == rows
    quick = running_times(runs_of(tmp_path, quick=True, **TOYS), lines)
    assert quick.rows[2] == ["third", "0", "no quick version"]
    assert text.index("Running times</h2>") > text.rindex("It squares.")


def test_results_of_other_fits_are_not_shown(tmp_path):
    run_toy(tmp_path)
    path = tmp_path / "toy.jsonl"
    path.write_text(path.read_text().replace('"method": "square"', '"method": "cube"', 1))
    text = page_of(tmp_path, toy=Toy())
    assert "5 of 6 fits are available." in text
    assert "5 fits in" in text


def test_unavailable_data_sets_are_named(tmp_path):
    run_toy(tmp_path, experiment=Toy(absent=("one",)))
    text = page_of(tmp_path, toy=Toy())
    assert "3 of 6 fits are available. There are no results for one." in text


def test_a_quick_page_says_so_and_has_no_results_of_a_full_run(tmp_path):
    run_toy(tmp_path, "first", TOYS["first"])
    run_toy(tmp_path, "second", TOYS["second"], quick=True)
    text = page_of(tmp_path, quick=True, **TOYS)
    assert "This is a quick run" in text
    assert re.findall('<section id="(.*?)">', text) == ["summary", "second", "times"]
    assert "<li>Squares (no quick version)</li>" in text


def test_results_that_the_paper_does_not_have_have_no_gap(tmp_path):
    run_toy(tmp_path)
    beyond = Toy(comparison=Comparison("more", None, 93.137, 0.16))
    table = comparisons(runs_of(tmp_path, toy=beyond))
    assert table.rows == [["toy: more", "-", "93.14", "0.16", "-"]]
