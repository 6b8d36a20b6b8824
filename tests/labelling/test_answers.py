from hypothesis import given
from hypothesis import strategies as st

from dropglm.labelling.answers import Answers
from dropglm.labelling.entries import ClassAdded, ClassRenamed, Kept, Labelled, Skipped, Undone
from dropglm.labelling.text_numbers import TextNumbers, text_hash

TEXTS = ["a lovely film", "a dull film", "great fun", "boring", "a lovely film"]
numbers = TextNumbers(TEXTS)
some_texts = st.lists(st.integers(0, 4), min_size=1, max_size=2).map(
    lambda chosen: tuple(map(numbers.reference, chosen))
)
answers = st.one_of(
    st.builds(
        Labelled,
        some_texts,
        st.sampled_from("ab"),
        st.sampled_from(["random", "chosen"]),
        st.sampled_from("ab"),
    ),
    st.builds(Skipped, some_texts),
    st.builds(Kept, some_texts),
)


def state(entries, texts=TEXTS):
    found = Answers(TextNumbers(texts))
    for entry in entries:
        found.apply(entry)
    return found


@given(st.lists(answers, max_size=6), st.lists(answers, max_size=4))
def test_undo_restores_the_state_before_each_answer(before, after):
    old, new = state(before), state(before)
    for entry in after:
        grown = len(new._before)
        new.apply(entry)
        if len(new._before) > grown:
            new.apply(Undone())
    assert new.by_text == old.by_text
    both = state([*before, *after])
    for _ in range(len(before) + len(after)):
        both.apply(Undone())
    assert both.by_text == {}
    assert both.last == ()


def test_labels_of_the_table_are_not_undone():
    """They are not answers of the page: undo takes the last answer before them, or nothing."""
    first, second = (numbers.reference(number) for number in (1, 2))
    found = state([Labelled((first,), "a", "chosen"), Labelled((second,), "b", "imported")])
    assert found.last == (1,)
    found.apply(Undone())
    found.apply(Undone())
    assert found.labels() == {2: "b"}
    assert found.last == ()


@given(st.lists(answers, max_size=6), st.permutations(range(5)))
def test_answers_find_their_texts_in_a_table_of_another_order(given, order):
    """Equal texts share one hash, so that labels are compared by text."""
    moved = state(given, [TEXTS[number] for number in order])
    labels = {text_hash(moved.numbers.texts[number]): label for number, label in moved.labels().items()}
    last = {}
    for entry in given:
        for reference in getattr(entry, "texts", ()):
            if isinstance(entry, Labelled):
                last[reference.hash] = entry.label
    known = {hashed for hashed in labels if hashed != text_hash(TEXTS[0])}
    assert all(labels[hashed] == last[hashed] for hashed in known)
    assert not moved.numbers.missing


def test_labels_of_missing_texts_are_kept_apart():
    text, other = numbers.reference(3), numbers.reference(1)
    found = state([Labelled((text,), "b"), Labelled((other,), "b")], ["a dull film", "new"])
    assert found.labels() == {0: "b"}
    assert (found.numbers.moved, len(found.numbers.missing)) == (1, 1)
    found.apply(Undone())
    assert found.labels() == {}


def test_a_renamed_class_renames_earlier_labels_and_guesses():
    text = (numbers.reference(0),)
    found = state([Labelled(text, "a", "random", "b"), ClassAdded("b"), ClassRenamed("b", "c")])
    assert found.classes == ["a", "c"]
    assert found.outcomes() == [(0, False)]
    found.apply(Labelled(text, "c"))
    assert found.outcomes() == [(0, True)]
    found.apply(ClassRenamed("a", "c"))
    assert found.classes == ["a", "c"]


def test_a_correction_keeps_how_the_text_was_drawn():
    text = (numbers.reference(2),)
    found = state(
        [Labelled(text, "a", "random", "a", 5.0), Kept(text), Labelled(text, "b", "search", "b", 9.0)]
    )
    answer = found.by_text[2]
    assert (answer.source, answer.guess, answer.time, answer.kept) == ("random", 0, 5.0, False)
    found.apply(Skipped(text))
    assert found.labels() == {}
