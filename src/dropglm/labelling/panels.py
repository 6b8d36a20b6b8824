"""What an annotator can look at besides the texts: progress, accuracy, words, suspicious labels."""

import re
import time
from collections import Counter
from typing import NamedTuple

import numpy as np

from dropglm.labelling.estimate import AccuracyEstimate, estimate_accuracy, labels_for_one_point
from dropglm.labelling.session import LabellingSession
from dropglm.labelling.text_numbers import TextNumbers

RECENT = 300.0  # seconds over which the speed of labelling is measured
POINTS = 60  # of the curve, at most
FEWEST_OUTCOMES = 10  # an interval of fewer says nothing
FOUND = 50  # texts that a search lists
BEFORE = 50  # characters of an excerpt before the first word that was found
PARTS = re.compile(r'[“”„"]([^“”„"]*)(?:[“”„"]|$)|([^\s“”„"]+)')  # keyboards of phones type curly marks


class Progress(NamedTuple):
    """Numbers of labels.

    Attributes
    ----------
    n_texts, n_labels, n_skipped : int
        Numbers of different texts: copies, equal but for case and white space, count once.
    n_rows : int
        Number of texts with all copies.
    classes : list of (str, int)
        Names of the classes and their numbers of labels.
    per_minute : float or None
        Labels per minute in the last five minutes; None if there were fewer than two.
    """

    n_texts: int
    n_labels: int
    n_skipped: int
    n_rows: int
    classes: list[tuple[str, int]]
    per_minute: float | None


class Suspect(NamedTuple):
    """A text whose label may be wrong; ``label`` and ``predicted`` are names of classes."""

    number: int
    label: str
    predicted: str
    probability: float


def progress(session: LabellingSession, now: float | None = None) -> Progress:
    """Return the numbers of labels, and the speed of labelling."""
    with session.lock:
        labels = session.answers.class_numbers()
        names = dict(session.answers.names)
        times = [answer.time for answer in session.answers.by_text.values() if answer.label is not None]
        n_answered = sum(number >= 0 for number in session.answers.by_text)
    counts = Counter(labels.values())
    now = time.time() if now is None else now
    recent = sorted(moment for moment in times if now - moment < RECENT)
    per_minute = None
    if len(recent) > 1 and recent[-1] > recent[0]:
        per_minute = 60.0 * (len(recent) - 1) / (recent[-1] - recent[0])
    return Progress(
        session.answers.numbers.n_different,
        len(labels),
        n_answered - len(labels),
        len(session.texts),
        [(name, counts[number]) for number, name in names.items()],
        per_minute,
    )


def accuracy_curve(session: LabellingSession) -> tuple[list[tuple[int, AccuracyEstimate]], int | None]:
    """Return the estimated accuracy over the number of labels, and the labels needed for one more point.

    The estimate rests on the texts that were drawn at random and predicted before they were labelled; there
    is none while there are fewer than ten of them. The labels needed are None unless at least twenty of them
    show that the accuracy rises; see ``labels_for_one_point``.
    """
    with session.lock:
        places = {number: place for place, number in enumerate(session.answers.class_numbers(), 1)}
        outcomes = session.answers.outcomes()
    outcomes = [(places[number], right) for number, right in outcomes if number in places]
    right = [one for _, one in outcomes]
    ends = np.unique(np.linspace(FEWEST_OUTCOMES, len(outcomes), POINTS).astype(int)).tolist()
    points = [
        (outcomes[end - 1][0], estimate_accuracy(right[:end]))
        for end in ends
        if FEWEST_OUTCOMES <= end <= len(outcomes)
    ]
    return points, labels_for_one_point([place for place, _ in outcomes], right)


def known_accuracy(session: LabellingSession) -> str:
    """Return a sentence about how good the model is known to be, for lists that rest on it."""
    points, _ = accuracy_curve(session)
    if not points:
        n = len(session.answers.outcomes())
        return (
            f"The accuracy of the model is not known yet ({n} of {FEWEST_OUTCOMES} random texts answered); "
            "this list may be mostly wrong."
        )
    share, low, high = (f"{100 * value:.0f} %" for value in points[-1][1][:3])
    return f"The model is right for about {share} of the texts ({low} to {high})."


def none_suspicious(session: LabellingSession) -> str:
    """Return a sentence for an empty list of suspicious labels: why there are none."""
    found, (points, _) = session.suspects, accuracy_curve(session)
    if found is None or not found.is_telling:
        return "The model is not good enough yet to tell wrong labels from right ones."
    if not points:
        return "No label looks wrong to the model, whose accuracy is not known yet."
    return f"No label looks wrong. {known_accuracy(session)}"


def suspects(session: LabellingSession, k: int = 20) -> list[Suspect]:
    """Return the labels that look most wrong, as far as they were neither changed nor kept since.

    ``LabellingSession.look_for_suspects`` looks for them in the background.
    """
    with session.lock:
        names, by_text = session.answers.names, session.answers.by_text
        return [
            Suspect(one.row, names[int(one.label)], names[int(one.predicted)], one.probability)
            for one in (session.suspects.found if session.suspects is not None else [])
            if one.row in by_text and by_text[one.row].label == int(one.label) and not by_text[one.row].kept
            if int(one.predicted) in names
        ][:k]


def surest(session: LabellingSession, name: str, k: int = 20) -> list[tuple[int, float]]:
    """Return the texts without labels of whose class the model is surest, with their probabilities.

    A text whose label was taken back is not among them until there is a model that has not learnt from it.

    Parameters
    ----------
    session : LabellingSession
    name : str
        Name of the class.
    k : int, default=20
        Maximal number of texts.
    """
    with session.lock:
        snapshot, by_text = session.snapshot, set(session.answers.by_text)
        label = session.answers.find_class(name)
    if snapshot is None or not snapshot.is_useful or label not in snapshot.classes:
        return []
    p = snapshot.probabilities[:, snapshot.classes.index(label)]
    copy_of = session.answers.numbers.copy_of
    found: list[tuple[int, float]] = []
    for number in np.argsort(-p, kind="stable").tolist():
        if number in by_text or number in snapshot.labelled or copy_of[number] != number:
            continue
        found.append((number, float(p[number])))
        if len(found) == k:
            break
    return found


class SearchResult(NamedTuple):
    """What a query finds.

    Attributes
    ----------
    numbers : list of int
        Numbers of the first texts.
    total : int
        Number of all texts.
    wanted : list of list of str
        The words and phrases that were searched for, each as a list of words.
    """

    numbers: list[int]
    total: int
    wanted: list[list[str]]

    def near(self, text: str) -> int:
        """Return where an excerpt of a text starts that shows one of the words or phrases.

        Examples
        --------
        >>> found = search(TextNumbers(["a film"]), "film")
        >>> found.near("a film"), found.near("so " * 100 + "film")
        (0, 250)
        """
        first = re.search("|".join(map(_pattern, self.wanted)), text.casefold())
        return first.start() - BEFORE if first is not None and first.start() > 2 * BEFORE else 0


def search(numbers: TextNumbers, query: str, k: int = FOUND) -> SearchResult:
    """Return the texts that contain all words of a query, in any order and in any case; of copies, the first.

    Parameters
    ----------
    numbers : TextNumbers
        The texts.
    query : str
        Words, or parts of words. Words in quotation marks are a phrase, which must occur as it is but for
        the blanks between the words.
    k : int, default=50
        Maximal number of texts that are listed.

    Examples
    --------
    >>> texts = TextNumbers(["A great, great film", "a film that is not great", "great fun"])
    >>> search(texts, "film GREAT")
    SearchResult(numbers=[0, 1], total=2, wanted=[['film'], ['great']])
    >>> search(texts, '"great film"')
    SearchResult(numbers=[0], total=1, wanted=[['great', 'film']])
    """
    wanted = [words for parts in PARTS.findall(query) if (words := "".join(parts).casefold().split())]
    words = [part[0] for part in wanted if len(part) == 1]
    phrases = [re.compile(_pattern(part)) for part in wanted if len(part) > 1]
    if not wanted:
        return SearchResult([], 0, [])
    found = [
        number
        for number, text in enumerate(map(str.casefold, numbers.texts))
        if numbers.copy_of[number] == number
        and all(word in text for word in words)
        and all(phrase.search(text) for phrase in phrases)
    ]
    return SearchResult(found[:k], len(found), wanted)


def _pattern(words: list[str]) -> str:
    return r"\s+".join(map(re.escape, words))
