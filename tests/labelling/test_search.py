import pytest
from hypothesis import given
from hypothesis import strategies as st

from dropglm.labelling.panels import search
from dropglm.labelling.text_numbers import TextNumbers

TEXTS = TextNumbers(
    ["A Great film", "a film,\nnot great", "great\t film fun", "straße (c++)", "", "a GREAT  film"]
)


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("film great", [0, 1, 2]),
        ("GREAT   fun", [2]),
        ('"great film"', [0, 2]),
        ("“great film”", [0, 2]),
        ('"great film" fun', [2]),
        ('"great fi', [0, 2]),
        ("STRASSE c++)", [3]),
        ("great none", []),
        ('""', []),
        (' " ', []),
        ("", []),
    ],
)
def test_all_words_and_phrases_must_occur(query, numbers):
    assert search(TEXTS, query)[:2] == (numbers, len(numbers))


@given(st.lists(st.text("ab ", max_size=8), max_size=6), st.lists(st.text("ab", min_size=1, max_size=2)))
def test_the_order_of_the_words_does_not_matter(texts, words):
    texts = TextNumbers(texts)
    found = search(texts, " ".join(words), k=2)
    different = sorted(set(texts.copy_of))
    holding = [n for n in different if words and all(word in texts.texts[n] for word in words)]
    assert found[:2] == (holding[:2], len(holding))
    assert found[:2] == search(texts, " ".join(reversed(words)).upper(), k=2)[:2]


def test_an_excerpt_shows_a_word_that_was_found():
    long = "so " * 300 + "Great  film"
    found = search(TextNumbers([long]), '"great film" so')
    assert found.wanted == [["great", "film"], ["so"]]
    assert found.near(long) == 0  # "so" is at the beginning
    found = search(TextNumbers([long]), '"great film"')
    assert long[found.near(long) :].endswith("so so Great  film")
    assert len(long[found.near(long) :]) < 100
