r"""Models as ONNX: texts in, labels and probabilities out.

ONNX's ``TfIdfVectorizer`` writes a row as long as the vocabulary for every text. Here the n-grams of a text
are numbered, equal ones are counted, and only their coefficients are gathered. A loop treats one text at a
time, so that a long one does not determine how much memory the others take.

The tokens are those that Python's regular expressions find. Where ONNX and Python differ, the graph does
without. The classes of characters are written into the pattern of onnxruntime's ``Tokenizer``, since its own
``\w`` is ASCII only. ``StringNormalizer`` needs a locale of the operating system, and its lower case is not
Python's; a table converts each character instead, and the characters are joined again, two and two in each
round. An HTML tag is matched as a token and then dropped.

For n-grams of characters, words get a blank on each side, as in scikit-learn's ``char_wb``, and are joined.
N-grams of the letters that cross words have two blanks in a row, so they are not in the vocabulary.
"""

import json
from os import PathLike
from typing import Any, NamedTuple, Self

import numpy as np

from dropglm.base.errors import InputError
from dropglm.base.files import replacing
from dropglm.base.imports import import_extra
from dropglm.core.families import Logistic
from dropglm.exports.model_parts import (
    FINAL_SIGMA,
    SIGMA,
    NgramParts,
    TextModelParts,
    around_sigma,
    lower_case,
    matching,
)
from dropglm.text.fitted_model import AnyTextModel
from dropglm.text.ngrams.tokens import HTML_TAG

OPSET, ML_OPSET, IR_VERSION = 20, 3, 9
FLOAT, INT64, STRING, BOOL, DOUBLE = 1, 7, 8, 9, 11  # numbers of types in ONNX
MICROSOFT, ML = "com.microsoft", "ai.onnx.ml"  # domains of operators
LARGEST = 2**31 - 2**20  # bytes of a file in the format of protobuf
# Appended to every text, so that no tensor is empty: a token of every pattern, which is then dropped.
END = "\n__"
NOT_BLANK = r"\S"
CASED, IGNORED = 1, 2
LABELS = {"U": STRING, "O": STRING, "i": INT64, "u": INT64, "b": BOOL, "f": DOUBLE}


def write_onnx(model: AnyTextModel, path: str | PathLike[str]) -> None:
    """Write a text model as ONNX, for onnxruntime.

    The input ``text`` is a tensor of n strings, the output ``label`` one of n classes, and ``probabilities``
    one of n rows, in the order of ``classes_``. If texts have several labels, ``label`` is a matrix of n rows
    with 1 for the labels that a text is given and 0 for the others, and the metadata "classes" of the file
    are their names in JSON. Texts must be in NFC, which ONNX cannot convert them to. The file uses opset 20
    and the operator ``Tokenizer``, which is onnxruntime's own.

    Parameters
    ----------
    model : TextClassifier or OnlineTextClassifier
        A fitted model of words, with a built-in token pattern, without ``strip_accents``, embeddings and
        hashing.
    path : str or path-like
        File to write.

    See Also
    --------
    write_json : The same for all other languages.
    write_sklearn : The same for scikit-learn.

    Examples
    --------
    >>> import tempfile, pathlib, numpy, onnxruntime
    >>> from dropglm import TextClassifier
    >>> model = TextClassifier(tune=False, min_df=1).fit(["good film", "bad film"], ["pos", "neg"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_onnx(model, pathlib.Path(folder) / "model.onnx")
    ...     session = onnxruntime.InferenceSession(pathlib.Path(folder) / "model.onnx")
    >>> session.run(["label"], {"text": numpy.array(["a GOOD film", "bad"])})
    [array(['pos', 'neg'], dtype=object)]
    """
    content = onnx_model(TextModelParts.of(model, "ONNX")).SerializeToString()
    with replacing(path) as stream:
        stream.write(content)


class Graph:
    """A graph, or the body of a loop, to which nodes are added, named one by one.

    ``graph.Add("a", "b")`` adds a node and returns the name of its output. Inputs are names of outputs, or
    arrays, which become constants. Attributes are given by keyword.
    """

    def __init__(self, name: str, outer: "Graph | None" = None) -> None:
        self.onnx = import_extra("onnx", "export", "ONNX files need")
        self.name = name
        self.nodes: list[Any] = []
        self.outermost: Graph = self if outer is None else outer.outermost
        self.constants: list[Any] = []  # of the outermost graph; bodies of loops see them
        self.count = 0

    def __getattr__(self, operator: str) -> Any:
        if not operator[0].isupper():
            raise AttributeError(operator)
        return lambda *inputs, **attributes: self.add(operator, *inputs, **attributes)

    def add(
        self, operator: str, *inputs: Any, outputs: int | list[str] = 1, domain: str = "", **attributes: Any
    ) -> Any:
        """Add a node; return the name of its output, or the names if there are several."""
        names = [self.new(operator) for _ in range(outputs)] if isinstance(outputs, int) else outputs
        given = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        self.nodes.append(self.onnx.helper.make_node(operator, given, names, domain=domain, **attributes))
        return names[0] if len(names) == 1 else names

    def new(self, name: str) -> str:
        """Return a name that nothing else has."""
        self.outermost.count += 1
        return f"{name.lower()}_{self.outermost.count}"

    def constant(self, value: Any) -> str:
        """Store an array, or a list of strings, and return its name."""
        outermost, name = self.outermost, self.new("constant")
        array = np.asarray(value)
        if array.dtype.kind in "US":
            array = array.astype(object)
        outermost.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def finish(self, inputs: list[Any], outputs: list[Any]) -> Any:
        """Return the graph in ONNX's own type; inputs and outputs are triples of name, type and shape."""
        info = self.onnx.helper.make_tensor_value_info
        constants = self.constants if self.outermost is self else []
        return self.onnx.helper.make_graph(
            self.nodes,
            self.name,
            [info(*each) for each in inputs],
            [info(*each) for each in outputs],
            constants,
        )


def onnx_model(parts: TextModelParts) -> Any:
    """Return the model in ONNX's own type."""
    ngrams = [part for part in (parts.words, parts.characters) if part is not None]
    if sum(part.coef.nbytes + part.factors.nbytes for part in ngrams) > LARGEST:
        raise InputError(
            "The coefficients take more than the 2 GB that an ONNX file can hold; train the model with fewer "
            "n-grams (--max-features or --min-df)."
        )
    graph = Graph("text_classifier")
    body = Graph("one_text", graph)
    text = _with_end(body, body.Gather("text", body.Reshape("number", np.array([1]))), parts)
    eta = body.Add(
        _predictors(body, _tokens(body, text, parts), parts.words, Spelling.in_words(parts.words)),
        parts.intercept.astype(np.float64),
    )
    if parts.characters is not None:
        spelling = Spelling.in_letters(parts.characters)
        eta = body.Add(eta, _predictors(body, _letters(body, text), parts.characters, spelling))
    _outputs(body, eta, parts)
    own = [] if parts.thresholds is None else [len(parts.classes)]
    finished = body.finish(
        [("number", INT64, []), ("going", BOOL, [])],
        [("still", BOOL, []), ("best", INT64, own), ("shares", FLOAT, [len(parts.classes)])],
    )
    graph.add(
        "Loop", graph.Squeeze(graph.Shape("text")), "", body=finished, outputs=["chosen", "probabilities"]
    )
    classes = np.array(parts.classes)
    if parts.thresholds is None:
        graph.add("Gather", classes, "chosen", outputs=["label"])
    else:
        graph.add("Identity", "chosen", outputs=["label"])
    kind = LABELS[classes.dtype.kind] if parts.thresholds is None else INT64
    whole = graph.finish(
        [("text", STRING, ["n"])],
        [("label", kind, ["n", *own]), ("probabilities", FLOAT, ["n", len(classes)])],
    )
    helper = graph.onnx.helper
    opsets = {"": OPSET, ML: ML_OPSET, MICROSOFT: 1}
    model = helper.make_model(
        whole,
        opset_imports=[helper.make_opsetid(*pair) for pair in opsets.items()],
        ir_version=IR_VERSION,
        producer_name="dropglm",
        doc_string="Texts in (n strings); labels and probabilities out, in the order of the classes "
        f"{', '.join(map(str, parts.classes))}.",
    )
    if parts.thresholds is not None:
        helper.set_model_props(model, {"classes": json.dumps(parts.classes, ensure_ascii=False)})
    return model


def _with_end(graph: Graph, text: str, parts: TextModelParts) -> str:
    """Add nodes that append ``END`` to a text, a tensor of one string, and convert it to lower case."""
    text = graph.StringConcat(text, [END])
    return _lower_case(graph, text) if parts.lowercase else text


def _tokens(graph: Graph, text: str, parts: TextModelParts) -> str:
    """Add nodes that split a text with ``END``; return the name of the tensor of its tokens."""
    pattern = f"{_class(parts.runs.run)}{{{parts.runs.shortest},}}"
    if parts.runs.single:
        pattern += f"|{_class(parts.runs.single)}"
    if parts.strip_html:
        pattern = f"{HTML_TAG.pattern}|{pattern}"
    tokens = _pieces(graph, text, tokenexp=pattern)
    tokens = graph.Slice(tokens, np.array([0]), np.array([-1]))  # without END
    if parts.strip_html:
        tag = graph.RegexFullMatch(tokens, pattern="(?s)<.+>")
        tokens = graph.Compress(tokens, graph.Not(tag), axis=0)
    if parts.stop_words:
        known = _numbered(graph, tokens, dict.fromkeys(parts.stop_words, 1), 0)
        tokens = graph.Compress(tokens, graph.Equal(known, np.array(0, np.int64)), axis=0)
    return tokens


def _letters(graph: Graph, text: str) -> str:
    """Add nodes that split a text with ``END`` into the letters of its words, each between two blanks."""
    words = _pieces(graph, text, tokenexp=f"{_class(NOT_BLANK)}+")
    padded = graph.StringConcat(graph.StringConcat([" "], words), [" "])
    letters = _pieces(graph, _joined(graph, padded), separators=[""])
    return graph.Slice(letters, np.array([0]), np.array([-len(END.strip()) - 2]))  # without END


def _pieces(graph: Graph, text: str, **settings: object) -> str:
    found = graph.Tokenizer(text, mark=0, mincharnum=1, pad_value="", domain=MICROSOFT, **settings)
    return graph.Reshape(found, np.array([-1]))


def _class(pattern: str) -> str:
    """Return a character class of the characters that match a pattern of Python."""
    return "[" + "".join(f"\\x{{{first:X}}}-\\x{{{last:X}}}" for first, last in matching(pattern)) + "]"


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
    place = graph.CumSum(graph.Cast(counts, to=INT64), np.array(0))
    before = graph.Gather(kept, graph.Sub(place, np.array(1)))
    after = graph.Gather(kept, graph.Add(place, np.array(1)))
    cased = np.array(CASED)
    ends = graph.And(graph.Equal(before, cased), graph.Not(graph.Equal(after, cased)))
    return graph.And(ends, graph.Equal(letters, [SIGMA]))


def _joined(graph: Graph, pieces: str) -> str:
    """Add a loop that joins neighbours until one string is left."""
    body = Graph("join", graph)
    one, two = np.array([1]), np.array([2])
    missing = body.Mod(body.Shape("pieces"), two)
    even = body.Concat("pieces", body.Slice([""], np.array([0]), missing), axis=0)
    end = np.array([2**62])
    halves = (body.Slice(even, np.array([start]), end, np.array([0]), two) for start in (0, 1))
    body.add("StringConcat", *halves, outputs=["joined"])
    body.add("Greater", body.Squeeze(body.Shape("joined")), np.array(1), outputs=["further"])
    finished = body.finish(
        [("round", INT64, []), ("again", BOOL, []), ("pieces", STRING, [None])],
        [("further", BOOL, []), ("joined", STRING, [None])],
    )
    several = graph.Squeeze(graph.Greater(graph.Shape(pieces), one))
    return graph.Loop("", several, pieces, body=finished)


class Spelling(NamedTuple):
    """N-grams as sequences of tokens or of letters.

    Attributes
    ----------
    tokens : list of str
    numbers : ndarray of shape (d, largest n)
        The numbers of the tokens of each n-gram; what is after the last one is not used.
    lengths : ndarray of shape (d,)
        The number of tokens of each n-gram.
    """

    tokens: list[str]
    numbers: np.ndarray
    lengths: np.ndarray

    @classmethod
    def in_words(cls, parts: NgramParts) -> Self:
        """Return n-grams of words."""
        vocabulary = parts.vocabulary
        return cls(vocabulary._words, vocabulary._spelling.astype(np.int64), vocabulary._lengths)

    @classmethod
    def in_letters(cls, parts: NgramParts) -> Self:
        """Return n-grams of characters."""
        names = parts.vocabulary.names()
        lengths = np.array([len(name) for name in names])
        letters, flat = np.unique([letter for name in names for letter in name], return_inverse=True)
        numbers = np.zeros((len(names), lengths.max()), np.int64)
        numbers[np.arange(lengths.max()) < lengths[:, None]] = flat
        return cls(letters.tolist(), numbers, lengths)


def _predictors(graph: Graph, tokens: str, parts: NgramParts, spelling: Spelling) -> str:
    """Add nodes that compute what n-grams add to the K predictors of a text, in double precision."""
    d = len(parts.vocabulary)
    # Unknown n-grams have a column of their own, whose factor is 0; it also keeps tensors from being empty.
    columns = graph.Concat(*_columns(graph, tokens, spelling), np.array([d]), axis=0)
    found, _, _, counts = graph.add("Unique", columns, sorted=1, outputs=4)
    x = graph.Cast(graph.Gather(np.append(parts.factors, parts.factors.dtype.type(0)), found), to=DOUBLE)
    one = np.array(1.0)
    if parts.tf != "binary":
        count = graph.Cast(counts, to=DOUBLE)
        x = graph.Mul(x, graph.Add(graph.Log(count), one) if parts.tf == "log" else count)
    if parts.norm is not None:
        size = (
            graph.Sqrt(graph.ReduceSum(graph.Mul(x, x)))
            if parts.norm == "l2"
            else graph.ReduceSum(graph.Abs(x))
        )
        x = graph.Div(x, graph.Where(graph.Equal(size, np.array(0.0)), one, size))
    coef = np.vstack([parts.coef.T, np.zeros((1, len(parts.coef)), parts.coef.dtype)])
    beta = graph.Cast(graph.Gather(coef, found), to=DOUBLE)
    eta = graph.MatMul(graph.Reshape(x, np.array([1, -1])), beta)
    return graph.Reshape(eta, np.array([-1]))


def _columns(graph: Graph, tokens: str, spelling: Spelling) -> list[str]:
    """Add nodes that find the column of each n-gram; one tensor for each n that the vocabulary has.

    An n-gram is a pair: its first n - 1 tokens, which are numbered among those that begin an n-gram of the
    vocabulary, and its last token.
    """
    words, spelled, lengths = spelling
    d, V, end = len(spelled), len(words), np.array([2**62])
    last = _numbered(graph, tokens, {word: k for k, word in enumerate(words)}, V)
    code, numbers, known, found = last, spelled[:, 0], V, []
    for n in range(1, int(lengths.max()) + 1):
        if n > 1:
            longer = lengths >= n
            keys = np.where(longer, numbers * (V + 1) + spelled[:, n - 1], -1)
            table, inverse = np.unique(keys[longer], return_inverse=True)
            numbers, known = np.zeros(d, np.int64), len(table)
            numbers[longer] = inverse
            head = graph.Mul(graph.Slice(code, np.array([0]), np.array([-1])), np.array(V + 1))
            key = graph.Add(head, graph.Slice(last, np.array([n - 1]), end))
            code = graph.LabelEncoder(
                key, domain=ML, keys_int64s=table, values_int64s=np.arange(known), default_int64=known
            )
        if (lengths == n).any():
            column = np.full(known + 1, d)
            column[numbers[lengths == n]] = np.flatnonzero(lengths == n)
            found.append(graph.Gather(column, code))
    return found


def _outputs(graph: Graph, eta: str, parts: TextModelParts) -> None:
    """Add nodes for the number of the best class, or 1 for each label given, and for the probabilities."""
    if parts.link == "logistic":
        shares = graph.Concat(graph.Sigmoid(graph.Neg(eta)), graph.Sigmoid(eta), axis=0)
        best = graph.Cast(graph.Greater(eta, np.array([0.0])), to=INT64)
    elif parts.thresholds is not None:
        shares = graph.Sigmoid(eta)
        above = graph.Greater(eta, Logistic.natural_parameter(parts.thresholds.astype(np.float64)))
        best = graph.Cast(above, to=INT64)
    else:
        best = graph.ArgMax(eta, axis=0, keepdims=0)
        shares = graph.Softmax(eta, axis=0) if parts.link == "softmax" else graph.Sigmoid(eta)
        shares = graph.Div(shares, graph.ReduceSum(shares))
    shape = np.array([] if parts.thresholds is None else [len(parts.classes)], np.int64)
    graph.add("Reshape", best, shape, outputs=["best"])
    graph.add("Cast", shares, to=FLOAT, outputs=["shares"])
    graph.add("Identity", np.array(True), outputs=["still"])
