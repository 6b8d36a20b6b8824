from hypothesis import given
from hypothesis import strategies as st

from dropglm.labelling.answers import Answers, TextNumbers, text_hash
from dropglm.labelling.journal import (
    ClassAdded,
    ClassRemoved,
    ClassRenamed,
    Confirmed,
    Labeled,
    LabeledTogether,
    Skipped,
    Undone,
)

TEXTS = ["a lovely film", "a dull film", "great fun", "boring", "a lovely film"]
numbers = TextNumbers(TEXTS)
some_texts = st.lists(st.integers(0, 4), min_size=1, max_size=2).map(
    lambda chosen: tuple(map(numbers.reference, chosen))
)
names = st.sampled_from("abc")
answers = st.one_of(
    st.builds(Labeled, some_texts, names, st.sampled_from(["random", "chosen"]), names),
    st.builds(LabeledTogether, st.just(tuple(map(numbers.reference, (0, 3)))), st.tuples(names, names)),
    st.builds(Skipped, some_texts),
    st.builds(Confirmed, some_texts),
)
class_changes = st.one_of(
    st.builds(ClassAdded, names, st.just(True)),
    st.builds(ClassRenamed, names, names),
    st.builds(ClassRemoved, names),
)
actions = answers | class_changes
given_at_the_start = st.one_of(
    st.builds(ClassAdded, names), st.builds(Labeled, some_texts, names, st.just("imported"))
)


def state(entries, texts=TEXTS):
    found = Answers(TextNumbers(texts))
    for entry in entries:
        found.apply(entry)
    return found


def has_classes(found, entry):
    """Return whether the classes of an answer exist, as they do on the page."""
    wanted = {getattr(entry, "label", None), getattr(entry, "guess", None), *getattr(entry, "labels", ())}
    return wanted - {None} <= set(found.classes)


@given(st.lists(actions, max_size=8), st.lists(actions, max_size=5))
def test_one_undo_takes_one_action_back(before, after):
    """Undoing all that came after, however much each action changed, restores the state before."""
    old, new = (state(ClassAdded(name) for name in "abc") for _ in range(2))
    for entry in before:
        for found in (old, new):
            if has_classes(found, entry):
                found.apply(entry)
    for entry in after:
        if not has_classes(new, entry):
            continue
        grown = len(new._actions)
        new.apply(entry)
        if len(new._actions) > grown:
            sentence = new.last.sentence(new)
            assert sentence.endswith(".")
            new.apply(Undone())
    assert (new.by_text, new.classes) == (old.by_text, old.classes)
    for _ in before:
        new.apply(Undone())
    assert new.by_text == {}
    assert new.classes == list("abc")
    assert new.last is None


@given(st.lists(actions | given_at_the_start | st.just(Undone()), max_size=15))
def test_every_label_has_a_class_whatever_happens(given):
    """Labels and classes that come with the table at a later start mix with what can be undone."""
    found = state(given)
    for _ in range(len(given) + 1):
        labels = {answer.label for answer in found.by_text.values()} - {None}
        assert labels <= set(found.names)
        assert len(set(found.classes)) == len(found.classes)
        assert found.last is None or found.last.sentence(found)
        found.apply(Undone())


def test_a_class_with_labels_is_not_removed():
    text = (numbers.reference(0),)
    found = state([Labeled(text, "a"), ClassAdded("b", True), ClassRemoved("a"), ClassRemoved("b")])
    assert found.classes == ["a"]
    found.apply(Undone())
    assert found.classes == ["a", "b"]
    assert found.last.sentence(found) == "the class “b” is removed."
    found.apply(Undone())
    assert found.last.sentence(found) == "“a lovely film” is no longer “a”."


def test_labels_of_the_table_are_not_undone():
    """They are not answers of the page: undo takes the last answer before them, or nothing."""
    first, second = (numbers.reference(number) for number in (1, 2))
    found = state([Labeled((first,), "a", "chosen"), Labeled((second,), "b", "imported")])
    assert found.last.numbers == [1]
    found.apply(Undone())
    found.apply(Undone())
    assert found.labels() == {2: "b"}
    assert found.last is None


@given(st.lists(answers, max_size=6), st.permutations(range(5)))
def test_answers_find_their_texts_in_a_table_of_another_order(given, order):
    """Equal texts share one hash, so that labels are compared by text."""
    moved = state(given, [TEXTS[number] for number in order])
    labels = {text_hash(moved.numbers.texts[number]): label for number, label in moved.labels().items()}
    last = {}
    for entry in given:
        labels_of = {Labeled: lambda one: [one.label] * 2, LabeledTogether: lambda one: one.labels}
        for reference, label in zip(
            entry.texts, labels_of.get(type(entry), lambda _: ())(entry), strict=False
        ):
            last[reference.hash] = label
    known = {hashed for hashed in labels if hashed != text_hash(TEXTS[0])}
    assert all(labels[hashed] == last[hashed] for hashed in known)
    assert not moved.numbers.missing


def test_labels_of_missing_texts_are_kept_apart():
    text, other = numbers.reference(3), numbers.reference(1)
    found = state([Labeled((text,), "b"), Labeled((other,), "b")], ["a dull film", "new"])
    assert found.labels() == {0: "b"}
    assert (len(found.numbers.moved), len(found.numbers.missing)) == (1, 1)
    found.apply(Undone())
    assert found.labels() == {}


def test_a_renamed_class_renames_earlier_labels_and_guesses():
    text = (numbers.reference(0),)
    found = state([Labeled(text, "a", "random", "b"), ClassAdded("b"), ClassRenamed("b", "c")])
    assert found.classes == ["a", "c"]
    assert found.outcomes() == [(0, False)]
    found.apply(Labeled(text, "c"))
    assert found.outcomes() == [(0, True)]
    found.apply(ClassRenamed("a", "c"))
    assert found.classes == ["a", "c"]


def test_a_correction_keeps_how_the_text_was_drawn():
    text = (numbers.reference(2),)
    found = state(
        [Labeled(text, "a", "random", "a", 5.0), Confirmed(text), Labeled(text, "b", "search", "b", 9.0)]
    )
    answer = found.by_text[2]
    assert (answer.source, answer.guess, answer.time, answer.kept) == ("random", 0, 5.0, False)
    found.apply(Skipped(text))
    assert found.labels() == {}
