"""dropglm explain: tables, JSON and the page."""

import json
import re

import pytest

from dropglm import TextClassifier
from tests.cli.command import BAD, dropglm
from tests.text.synthetic import texts_with_labels

TEXT = "a lovely <b>story</b>, dull & <i> with zyzzyva"


def classes_model(folder, classes):
    """Write a model whose classes each have a word of their own."""
    texts = [f"a film, {name} {name}word ! . {other}" for name in classes for other in ("fun", "long")]
    model = TextClassifier(tune=False).fit(texts, [name for name in classes for _ in range(2)])
    model.save(folder / "m.skops")


@pytest.fixture(scope="module")
def page(place):
    """Return the page and the JSON of one text."""
    out = dropglm("explain", "m.skops", TEXT, "--html", "page.html", "--json", cwd=place)
    return (place / "page.html").read_text(encoding="utf-8"), json.loads(out)


def test_json_has_the_runner_up_and_contributions_that_add_up(page):
    result = page[1]["texts"][0]
    assert (result["text"], result["label"], result["against"]) == (TEXT, "good", "bad")
    assert "zyzzyva" in result["unknown"]
    total = result["base_difference"] + sum(entry["weight"] for entry in result["contributions"])
    assert total == pytest.approx(result["difference"], abs=1e-5)
    assert {entry["ngram"] for entry in page[1]["top_features"]["bad"]} >= set(BAD)


def test_the_page_has_a_figure_for_each_class_and_each_text(page):
    html = page[0]
    assert html.count("<svg") == 3
    assert '<span class="unknown">zyzzyva</span>' in html
    assert "<b>" not in html
    assert "<i>" not in html


def test_words_of_the_page_have_the_colour_of_the_class_that_they_favour(page):
    html, result = page[0], page[1]["texts"][0]
    key = re.search('<p class="key">(.*?)</p>', html)[1]
    colours = dict(re.findall(r'<mark style="background:rgba\((\d+,\d+,\d+),[\d.]+\)">for (\w+)</mark>', key))
    assert list(colours.values()) == [result["label"], result["against"]]
    words = re.findall(r'rgba\((\d+,\d+,\d+),[\d.]+\)" title="(.*?)">(\w+)</mark>', html)
    assert {word for _, _, word in words} >= {"lovely", "dull"}
    for colour, weight, _ in words:
        assert (colours[colour] == result["label"]) == (float(weight) > 0)


def test_the_table_of_a_text_is_a_sum_with_the_largest_parts_first(place):
    out = dropglm("explain", "m.skops", TEXT, "--top", "3", cwd=place)
    rows = re.findall(r"│ (.*?) +│ +([-+][\d.]+) │", out)
    names = [name for name, _ in rows]
    assert names[0] == "log odds of good against bad"
    assert names[1].strip() == "for good, largest first"
    assert names[-1].strip() == "intercept"
    parts = [float(weight) for name, weight in rows if re.match(r"  \S", name)]
    assert sum(parts) == pytest.approx(float(rows[0][1]), abs=0.03)
    assert "lovely" in out
    assert "zyzzyva" in out


def test_several_classes_are_compared_two_at_a_time(tmp_path):
    classes_model(tmp_path, ["red", "blue", "green", "black"])
    out = dropglm("explain", "m.skops", "redword blueword", "--html", "page.html", cwd=tmp_path)
    assert "predictor of" in out
    assert re.search("[a-z]+ 0.[0-9]+, [a-z]+ 0.[0-9]+, [a-z]+ 0.[0-9]+, 1 other 0.[0-9]+", out)
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert html.count("<svg") == 5
    assert len(set(re.findall(r"rgba\((\d+,\d+,\d+)", html))) == 2


def test_chinese_is_shown_without_blanks(tmp_path):
    texts = ["iPhone很好", "很好看", "不好看", "不好, 差"] * 2
    TextClassifier(tune=False).fit(texts, ["好评", "好评", "差评", "差评"] * 2).save(tmp_path / "m.skops")
    text = "iPhone很好不好电"
    out = json.loads(dropglm("explain", "m.skops", text, "--html", "page.html", "--json", cwd=tmp_path))
    ngrams = {entry["ngram"] for entry in out["texts"][0]["contributions"]}
    assert {"很好", "不好", "iphone 很"} <= ngrams
    assert "不好" in {entry["ngram"] for entry in out["top_features"]["差评"]}
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    shown = re.search('<p class="text">(.*?)</p>', html)[1]
    assert re.sub("<.*?>", "", shown) == "iphone 很好不好电"
    assert "不 好" not in html
    weights = {word: float(weight) for weight, word in re.findall(r'title="([^"]*)">(\w)</mark>', shown)}
    parts = {entry["ngram"]: entry["weight"] for entry in out["texts"][0]["contributions"]}
    expected = parts["不"] + (parts["不好"] + parts.get("好不", 0.0)) / 2
    assert weights["不"] == pytest.approx(expected, abs=1e-3)
    assert "很好" in dropglm("explain", "m.skops", text, cwd=tmp_path)


def test_many_classes_are_listed_in_a_table(tmp_path):
    names = [f"{first}{last}" for first in "abcdefg" for last in "xyz"]
    classes_model(tmp_path, names)
    dropglm("explain", "m.skops", "axword bxword", "", "--html", "page.html", cwd=tmp_path)
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert html.count("<svg") == 1  # the empty text has no bars
    for name in names:
        assert f'<td class="word">{name}</td>' in html
    assert "16 others" in html


def test_a_class_of_several_labels_is_explained(tmp_path):
    texts, labels = texts_with_labels(60)
    TextClassifier(tune=False).fit(texts, labels).save(tmp_path / "m.skops")
    given = "lovely fun great film", "--class", "bad"
    out = dropglm("explain", "m.skops", *given, cwd=tmp_path)
    assert "log odds of bad, given above +0.00" in out
    assert re.search(r"labels +good \d\.\d\d", out)
    result = json.loads(dropglm("explain", "m.skops", *given, "--json", cwd=tmp_path))["texts"][0]
    assert (result["label"], result["labels"], result["threshold"]) == ("bad", ["good"], 0.5)
    out = dropglm("explain", "m.skops", "a", "--class", "dab", cwd=tmp_path, code=2)
    assert "class 'dab' is unknown; known: 'bad', 'good'," in out
