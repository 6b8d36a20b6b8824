"""The page of all experiments: complete in itself, and made of lines alone."""

import re
from dataclasses import replace

import pytest

from dropglm.experiments import Comparison, comparisons, report, run
from dropglm.experiments.report import times
from tests.experiments.toys import killed_after, toy

TOYS = {
    "first": toy(title="Squares & more"),
    "second": toy(title="Squares again"),
    "third": toy(has_quick=False),
}


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    out = tmp_path_factory.mktemp("report")
    for name in ("first", "second"):
        run(name, TOYS[name], out)
    return report(TOYS, out).read_text()


def test_it_is_made_of_lines_alone(tmp_path):
    run("toy", toy(), tmp_path)
    text = report({"toy": toy(killed_after(0), absent=("one", "two"))}, tmp_path).read_text()
    assert "It squares." in text
    assert "<td>4</td>" in text
    assert "6 fits in less than a second, made with dropglm" in text


def test_it_is_the_same_each_time(tmp_path):
    run("toy", toy(), tmp_path)
    assert report({"toy": toy()}, tmp_path).read_bytes() == report({"toy": toy()}, tmp_path).read_bytes()


def test_it_asks_for_nothing_from_elsewhere(text):
    assert not re.search(r"<(script|link|img|iframe|object|embed|image)\b", text)
    assert not re.search(r"\b(src|srcset|href|action|poster)=\"(?!#)", text)
    assert not re.search(r"url\((?!#)|@import", text)


def test_ids_are_unique_and_references_lead_to_one(text):
    """Figures of one make have the same ids; on one page each would use those of the first."""
    ids = re.findall(r"\bid=\"([^\"]*)\"", text)
    assert len(ids) == len(set(ids))
    references = re.findall(r"href=\"#([^\"]*)\"|url\(#([^)]*)\)", text)
    assert text.count("<svg") == 4
    assert len({link or url for link, url in references}) > 10
    assert {link or url for link, url in references} <= set(ids)


def test_the_contents_lead_to_every_experiment_that_was_run(text):
    contents = re.search("<nav>.*?</nav>", text)[0]
    assert '<a href="#first">Squares &amp; more</a>' in contents
    assert '<a href="#second">Squares again</a>' in contents
    assert "<li>Squares (not run)</li>" in contents
    assert re.findall('<section id="(.*?)">', text) == ["summary", "first", "second", "times"]


def test_the_paper_and_ours_stand_on_top(text):
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
def test_the_gap_is_that_of_the_digits_shown(paper, ours, error, shown):
    experiment = replace(toy(), compare=lambda lines: [Comparison("x", paper, ours, error)])
    assert comparisons({"toy": experiment}, {"toy": [{}]}).rows == [["toy: x", *shown]]
    assert comparisons({"toy": experiment}, {"toy": []}).rows == []


def test_how_long_each_took_stands_at_the_end(text):
    lines = {"first": [{"seconds": 30.0}, {"seconds": 45.0}], "second": [{"seconds": 3600.0}], "third": []}
    rows = [
        ["first", "2", "75 seconds"],
        ["second", "1", "60 minutes"],
        ["third", "0", "not run"],
        ["all", "3", "61 minutes"],
    ]
    assert times(TOYS, lines).rows == rows
    assert times(TOYS, lines, quick=True).rows[2] == ["third", "0", "no quick form"]
    assert text.index("How long each took</h2>") > text.rindex("It squares.")


def test_lines_that_are_not_wanted_any_more_are_not_shown(tmp_path):
    run("toy", toy(), tmp_path)
    path = tmp_path / "toy.jsonl"
    path.write_text(path.read_text().replace('"method": "square"', '"method": "cube"', 1))
    text = report({"toy": toy()}, tmp_path).read_text()
    assert "5 of 6 fits are here." in text
    assert "5 fits in" in text


def test_what_cannot_be_had_is_named(tmp_path):
    run("toy", toy(absent=("one",)), tmp_path, tell=lambda sentence: None)
    assert "3 of 6 fits are here. Nothing is here of one." in report({"toy": toy()}, tmp_path).read_text()


def test_a_quick_page_says_so_and_has_no_lines_of_a_full_run(tmp_path):
    run("first", TOYS["first"], tmp_path)
    run("second", TOYS["second"], tmp_path, quick=True)
    text = report(TOYS, tmp_path, quick=True).read_text()
    assert "This is a quick run" in text
    assert re.findall('<section id="(.*?)">', text) == ["summary", "second", "times"]
    assert "<li>Squares (no quick form)</li>" in text


def test_what_goes_beyond_the_paper_has_no_gap():
    beyond = replace(toy(), compare=lambda lines: [Comparison("more", None, 93.137, 0.16)])
    table = comparisons({"toy": beyond}, {"toy": [{}]})
    assert table.rows == [["toy: more", "-", "93.14", "0.16", "-"]]
