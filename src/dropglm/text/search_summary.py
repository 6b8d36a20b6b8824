"""Lines of a summary about a cross-validation and about unlabelled texts."""

from typing import Any


def readable_score(scoring: str, score: float) -> tuple[str, float]:
    """Return the name of a score and its value in words of the field: a log loss is positive.

    Examples
    --------
    >>> readable_score("neg_log_loss", -0.5), readable_score("accuracy", 0.9)
    (('log loss', 0.5), ('accuracy', 0.9))
    """
    return ("log loss", -score) if scoring == "neg_log_loss" else (scoring, score)


def search_line(search: dict[str, Any]) -> str:
    """Return the line of the printed summary."""
    name, score = readable_score(search["scoring"], search["score"])
    parts = [f"{name} {score:.4f}"]
    if search["standard_error"] is not None:
        parts[0] += f" ± {search['standard_error']:.4f}"
    if name != "accuracy" and search.get("accuracy") is not None:
        parts.append(f"accuracy {search['accuracy']:.4f}")
    folds = f"{search['folds']} fold{'s' if search['folds'] > 1 else ''}"
    line = f"{', '.join(parts)} over {folds}"
    if search["points"] > 1 and search["standard_error"] is None:
        line += f"; the best of {search['points']} settings"
    elif search["points"] > 1:
        within = f"{search['within']} of {search['points']} settings"
        verb = "is" if search["within"] == 1 else "are"
        line += f"; {within} {verb} within one standard error of the best"
    if search.get("l2_at_edge"):
        line += "; l2 is at the edge of the values tried, and one beyond it may be better"
    alone = search.get("never_held_out")
    if alone:
        line += f"; without {alone} text{'s' if alone > 1 else ''} that could not be held out"
    return line


def effect_line(effect: dict[str, Any], search: dict[str, Any]) -> str:
    """Return the line of the printed summary, given the field ``search`` of the summary as well."""
    uses = []
    if effect["n_latent"]:
        rare = " that give rare words more weight" if effect["rare_words"] else ""
        uses.append(f"{effect['n_latent']} latent features{rare}")
    if effect["rounds"]:
        uses.append(f"{effect['rounds']} round{'s' if effect['rounds'] > 1 else ''} of naive Bayes")
    if effect["discount"]:
        uses.append(f"discount {effect['discount']:g}")
    used = ", ".join(uses) or "not used"
    if effect["score_without"] is None:
        return used
    name, score = readable_score(search["scoring"], search["score"])
    _, score_without = readable_score(search["scoring"], effect["score_without"])
    line = f"{name} {score:.4f} instead of {score_without:.4f}"
    if name != "accuracy":
        line += f", accuracy {search['accuracy']:.4f} instead of {effect['accuracy_without']:.4f}"
    return f"{line} without them; {used}"
