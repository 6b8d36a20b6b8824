"""Model cards: what a model file says about its model, in Markdown."""

import re
from collections.abc import Iterable, Sequence

from dropglm.text.fitted_model import AnyTextModel, FittedTextModel, Summary
from dropglm.text.ngrams.hashed import HashedFeatures
from dropglm.text.ngrams.tokens import WORDS_AND_PUNCTUATION

FEW_TEXTS = 30
MOST_CLASSES = 50
NGRAMS = 10
SCORES = ("cross-validation", "micro F1", "unlabelled texts", "progressive")
# What no model file knows, and readers of a card want to know.
QUESTIONS = (
    "where the texts come from, in which languages and from which time",
    "who labelled them, how, and how often two people agree",
    "what the model is meant for, and what it must not be used for",
    "how well it does on texts of other sources (`dropglm evaluate MODEL TABLE`)",
)


def model_card(model: AnyTextModel, name: str = "a text classifier") -> str:
    """Return a model card: data, settings, scores and limits, as far as the fitted model knows them.

    Parameters
    ----------
    model : TextClassifier or OnlineTextClassifier
        A fitted model.
    name : str, default="a text classifier"
        Title of the card.

    Returns
    -------
    str
        Markdown.

    See Also
    --------
    TextClassifier.summary_ : The same facts as an object.

    Examples
    --------
    >>> from dropglm import TextClassifier
    >>> model = TextClassifier(tune=False, min_df=1).fit(["good film", "bad film"], ["pos", "neg"])
    >>> print(model_card(model, "films").splitlines()[2][:45])
    Assigns a text to one of 2 classes: neg, pos.
    """
    fitted = model._fitted_model()
    sections = [_head(fitted, name)]
    sections += [section(fitted) for section in (_data, _settings, _scores, _learnt, _limits)]
    sections.append("## To be added by hand\n\nThe model file does not say\n\n" + _items(QUESTIONS))
    return "\n\n".join(sections) + "\n"


def _head(model: FittedTextModel, name: str) -> str:
    classes = [plain(label) for label in model.classes_[:MOST_CLASSES]]
    listed = ", ".join(classes) + (", …" if len(model.classes_) > MOST_CLASSES else "")
    characters = "" if model.characters is None else ", and of n-grams of characters within words"
    task = "Gives a text any number of" if model.multilabel_ else "Assigns a text to one of"
    return (
        f"# Model card: {plain(name)}\n\n{task} {len(model.classes_):,} {_classes(model)}: {listed}. "
        f"A linear model of the words and n-grams of a text{characters}, trained with dropglm."
    )


def _data(model: FittedTextModel) -> str:
    sizes, several = model.summary_.texts, getattr(model.summary_, "several_labels", None)
    total = several["texts"] if several else sum(sizes.values())
    rows = [
        (plain(label), f"{n:,}", f"{n / max(total, 1):.1%}")
        for label, n in list(sizes.items())[:MOST_CLASSES]
    ]
    rows.append(("**all**", f"{total:,}", ""))
    lines = []
    if several:
        lines.append(f"Texts have any number of labels; {several['without']:,} have none.")
    if isinstance(model.summary_, Summary) and model.summary_.unlabeled:
        lines.append(f"{model.summary_.unlabeled:,} texts without labels were used as well.")
    if model.text_column_ and model.label_column_:
        text, label = plain(model.text_column_), plain(model.label_column_)
        lines.append(f"The columns of the training table were {text} (texts) and {label} (labels).")
    return "\n\n".join(
        [
            "## Training data",
            _table((_class(model), "texts", "share"), rows),
            *filter(None, [" ".join(lines)]),
        ]
    )


def _settings(model: FittedTextModel) -> str:
    vectorizer, summary = model.vectorizer, model.summary_
    lines = dict(summary.lines())
    number = f"{summary.features:,}" if isinstance(summary, Summary) else lines["n-grams"]
    splits_words = isinstance(vectorizer, HashedFeatures) or vectorizer.analyzer == "word"
    analyzer = "" if splits_words else getattr(vectorizer.analyzer, "__name__", repr(vectorizer.analyzer))
    steps = [
        "texts are converted to lower case" if vectorizer.lowercase else "upper and lower case differ",
        *(["HTML tags become blanks"] if vectorizer.strip_html else []),
        _tokens(vectorizer.token_pattern) if splits_words else f"analyzer {analyzer}",
        f"n-grams of {vectorizer.ngram_range[0]} to {vectorizer.ngram_range[1]} tokens, {number}",
    ]
    if model.characters is not None:
        shortest, longest = model.characters.vectorizer.ngram_range
        tags = "; HTML tags are not removed for these" if vectorizer.strip_html else ""
        steps.append(
            f"n-grams of {shortest} to {longest} characters within words, {summary.characters:,}{tags}"
        )
    settings = [(name, f"{value}") for name, value in summary.settings.items() if value is not None]
    if model.multilabel_:
        thresholds = model.model.thresholds_
        if thresholds is None:
            steps.append("a text is given the labels whose probability is above 0.5")
        else:
            pairs = zip(model.classes_[:MOST_CLASSES], thresholds, strict=False)
            least = ", ".join(f"{plain(label)} {threshold:.2f}" for label, threshold in pairs)
            steps.append(f"a text is given the labels whose probability is above their threshold: {least}")
    embedding = [f"embeddings: {lines['embeddings']}"] if "embeddings" in lines else []
    return "## Settings\n\n" + _items([*steps, *embedding]) + "\n\n" + _table(("setting", "value"), settings)


def _tokens(pattern: str) -> str:
    if pattern == WORDS_AND_PUNCTUATION:
        return "tokens are words, punctuation marks, and the characters of scripts that do not separate words"
    return f"tokens match `{pattern}`"


def _scores(model: FittedTextModel) -> str:
    trust = model._trust()
    lines = [*([("use", trust.line())] if trust else []), *model.summary_.lines()]
    found = _items(f"{name}: {text}" for name, text in lines if name == "use" or name in SCORES)
    text = (
        f"{found}\n\nOn texts that the model had not been trained on; texts of other sources may be harder."
    )
    if not found:
        text = (
            "None: the settings were given, so nothing was held out. `dropglm evaluate MODEL TABLE` measures "
            "the model."
        )
    return f"## Scores\n\n{text}"


def _learnt(model: FittedTextModel) -> str:
    top = list(model.top_features(NGRAMS).items())[:MOST_CLASSES]
    rows = [(plain(label), ", ".join(plain(entry.ngram) for entry in entries)) for label, entries in top]
    return f"## N-grams that favour each {_class(model)}\n\n" + _table(
        (_class(model), "n-grams, the most important first"), rows
    )


def _limits(model: FittedTextModel) -> str:
    summary = model.summary_
    limits = ["Every text gets one of the classes above, also one that belongs to none of them."]
    if model.multilabel_:
        limits = ["Texts are given the labels above only; others are not known to the model."]
    if model.head is None:
        p = model.predict_proba([""])[0]
        best = int(p.argmax())
        characters = "" if model.characters is None else " and have no n-gram of characters of it"
        without = f"is assigned to {plain(model.classes_[best])}, with probability {p[best]:.2f}"
        if model.multilabel_:
            given = model.explain("").labels or ["no label"]
            without = f"is given {', '.join(map(plain, given))}"
        limits.append(
            f"Words that are in no n-gram of the model{characters} are ignored. A text without known words "
            f"{without}."
        )
    rare = [plain(label) for label, n in summary.texts.items() if n < FEW_TEXTS]
    if rare:
        found = ", ".join(rare[:MOST_CLASSES])
        limits.append(f"{_classes(model).capitalize()} with fewer than {FEW_TEXTS} training texts: {found}.")
    if isinstance(summary, Summary):
        calibrated = summary.settings.get("scale") is not None
        fitted = "were fitted to held-out texts of the training table" if calibrated else "are not calibrated"
        limits.append(
            f"Probabilities {fitted}; where {_classes(model)} are more or less frequent, they are off."
        )
        if not summary.converged:
            limits.append("The fit did not converge, so the coefficients are not final.")
    hashed = isinstance(model.vectorizer, HashedFeatures)
    kept = "one n-gram for each column in use" if hashed else "all n-grams of its vocabulary"
    limits.append(
        f"The model file contains words of the training texts ({kept}); take care if these are private."
    )
    return "## Limits\n\n" + _items(limits)


def _class(model: FittedTextModel) -> str:
    return "label" if model.multilabel_ else "class"


def _classes(model: FittedTextModel) -> str:
    return "labels" if model.multilabel_ else "classes"


def plain(value: object) -> str:
    r"""Return text that Markdown shows as it is, on one line.

    Examples
    --------
    >>> print(plain("a|b *c*\n<br>"))
    a\|b \*c\* \<br\>
    """
    shown = "".join(one if one.isprintable() else "\ufffd" for one in " ".join(str(value).split()))
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", shown)


def _items(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ("---",) * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
