r"""From a text to its tokens in ONNX, with the tokens that Python's regular expressions find.

Where ONNX and Python differ, the graph does without. The classes of characters are written into the pattern
of onnxruntime's ``Tokenizer``, since its own ``\w`` is ASCII only. ``StringNormalizer`` needs a locale of
the operating system, and its lower case is not Python's; a table converts each character instead, and the
characters are joined again, two and two in each round. An HTML tag is matched as a token and then dropped.
"""

import numpy as np

from dropglm.exports.characters import FINAL_SIGMA, SIGMA, Ranges, around_sigma, lower_case, matching
from dropglm.exports.linear_text import LinearText
from dropglm.exports.onnx_graph import MICROSOFT, ML, Graph
from dropglm.text.preprocessing import HTML_TAG

# Appended to every text, so that no tensor is empty: a token of every pattern, which is then dropped.
END = "\n__"
CASED, IGNORED = 1, 2
INT64 = np.int64


def add_tokens(graph: Graph, text: str, parts: LinearText) -> str:
    """Add nodes that split a text, a tensor of one string; return the name of the tensor of its tokens."""
    text = graph.StringConcat(text, [END])
    if parts.lowercase:
        text = _lower_case(graph, text)
    pattern = f"[{_class(matching(parts.runs.run))}]{{{parts.runs.shortest},}}"
    if parts.runs.single:
        pattern += f"|[{_class(matching(parts.runs.single))}]"
    if parts.strip_html:
        pattern = f"{HTML_TAG.pattern}|{pattern}"
    tokens = _pieces(graph, text, tokenexp=pattern)
    tokens = graph.Slice(tokens, np.array([0]), np.array([-1]))  # without END
    if parts.strip_html:
        tag = graph.RegexFullMatch(tokens, pattern="(?s)<.+>")
        tokens = graph.Compress(tokens, graph.Not(tag), axis=0)
    if parts.stop_words:
        known = _numbered(graph, tokens, dict.fromkeys(parts.stop_words, 1), 0)
        tokens = graph.Compress(tokens, graph.Equal(known, np.array(0, INT64)), axis=0)
    return tokens


def _pieces(graph: Graph, text: str, **settings: object) -> str:
    found = graph.Tokenizer(text, mark=0, mincharnum=1, pad_value="", domain=MICROSOFT, **settings)
    return graph.Reshape(found, np.array([-1]))


def _class(ranges: Ranges) -> str:
    """Return the inside of a character class."""
    return "".join(f"\\x{{{first:X}}}-\\x{{{last:X}}}" for first, last in ranges)


def _numbered(graph: Graph, strings: str, numbers: dict[str, int], default: int) -> str:
    """Add a look-up of strings."""
    return graph.LabelEncoder(
        strings,
        domain=ML,
        keys_strings=list(numbers),
        values_int64s=list(numbers.values()),
        default_int64=default,
    )


def _lower_case(graph: Graph, text: str) -> str:
    letters = _pieces(graph, text, separators=[""])
    table = lower_case()
    lower = graph.LabelEncoder(
        letters, domain=ML, keys_strings=list(table), values_strings=list(table.values()), default_string=""
    )
    lower = graph.Where(graph.Equal(lower, [""]), letters, lower)
    return _joined(graph, graph.Where(_is_final_sigma(graph, letters), [FINAL_SIGMA], lower))


def _is_final_sigma(graph: Graph, letters: str) -> str:
    """Add nodes that say of each letter whether it is a Σ with the lower case ς."""
    kinds = {
        chr(code): kind
        for kind, ranges in zip((CASED, IGNORED), around_sigma(), strict=True)
        for first, last in ranges
        for code in range(first, last + 1)
    }
    kind = _numbered(graph, letters, kinds, 0)
    counts = graph.Not(graph.Equal(kind, np.array(IGNORED)))
    nothing = np.array([0])
    kept = graph.Concat(nothing, graph.Compress(kind, counts, axis=0), nothing, axis=0)
    # A letter that counts is at ``place`` in ``kept``.
    place = graph.CumSum(graph.Cast(counts, to=7), np.array(0))
    before = graph.Gather(kept, graph.Sub(place, np.array(1)))
    after = graph.Gather(kept, graph.Add(place, np.array(1)))
    cased = np.array(CASED)
    ends = graph.And(graph.Equal(before, cased), graph.Not(graph.Equal(after, cased)))
    return graph.And(ends, graph.Equal(letters, [SIGMA]))


def _joined(graph: Graph, pieces: str) -> str:
    """Add a loop that joins neighbours until one string is left."""
    body, strings, boolean = Graph("join", graph), 8, 9
    one, two = np.array([1]), np.array([2])
    missing = body.Mod(body.Shape("pieces"), two)
    even = body.Concat("pieces", body.Slice([""], np.array([0]), missing), axis=0)
    end = np.array([2**62])
    halves = (body.Slice(even, np.array([start]), end, np.array([0]), two) for start in (0, 1))
    body.add("StringConcat", *halves, outputs=["joined"])
    body.add("Greater", body.Squeeze(body.Shape("joined")), np.array(1), outputs=["further"])
    finished = body.finish(
        [("round", 7, []), ("again", boolean, []), ("pieces", strings, [None])],
        [("further", boolean, []), ("joined", strings, [None])],
    )
    several = graph.Squeeze(graph.Greater(graph.Shape(pieces), one))
    return graph.Loop("", several, pieces, body=finished)
