"""Models as ONNX: texts in, labels and probabilities out.

ONNX's ``TfIdfVectorizer`` writes a row as long as the vocabulary for every text. Here the n-grams of a text
are numbered, equal ones are counted, and only their coefficients are gathered. A loop treats one text at a
time, so that a long one does not determine how much memory the others take.
"""

from os import PathLike
from typing import Any

import numpy as np

from dropglm.exports.linear_text import LinearText
from dropglm.exports.onnx_graph import MICROSOFT, ML, Graph
from dropglm.exports.onnx_text import _numbered, add_tokens
from dropglm.extras import import_extra
from dropglm.files import replacing
from dropglm.text.fitted_model import AnyTextModel

OPSET, ML_OPSET, IR_VERSION = 20, 3, 9
FLOAT, INT64, STRING, BOOL, DOUBLE = 1, 7, 8, 9, 11  # numbers of types in ONNX
LARGEST = 2**31 - 2**20  # bytes of a file in the format of protobuf
LABELS = {"U": STRING, "O": STRING, "i": INT64, "u": INT64, "b": BOOL, "f": DOUBLE}


def write_onnx(model: AnyTextModel, path: str | PathLike[str]) -> None:
    """Write a text model as ONNX, for onnxruntime.

    The input ``text`` is a tensor of n strings, the output ``label`` one of n classes, and ``probabilities``
    one of n rows, in the order of ``classes_``. The file uses opset 20 and the operator ``Tokenizer``, which
    is onnxruntime's own.

    Parameters
    ----------
    model : TextClassifier or OnlineTextClassifier
        A fitted model of words, with one of the two built-in token patterns, without ``strip_accents``,
        embeddings and hashing.
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
    import_extra("onnx", "export", "ONNX files need")
    content = onnx_model(LinearText.of(model, "ONNX")).SerializeToString()
    with replacing(path) as stream:
        stream.write(content)


def onnx_model(parts: LinearText) -> Any:
    """Return the model in ONNX's own type."""
    if parts.coef.nbytes + parts.factors.nbytes > LARGEST:
        raise ValueError(
            "The coefficients take more than the 2 GB that an ONNX file can hold; train the model with fewer "
            "n-grams (--max-features or --min-df)."
        )
    graph = Graph("text_classifier")
    body = Graph("one_text", graph)
    eta = _predictors(
        body, add_tokens(body, body.Gather("text", body.Reshape("number", np.array([1]))), parts), parts
    )
    _outputs(body, eta, parts)
    finished = body.finish(
        [("number", INT64, []), ("going", BOOL, [])],
        [("still", BOOL, []), ("best", INT64, []), ("shares", FLOAT, [len(parts.classes)])],
    )
    graph.add(
        "Loop", graph.Squeeze(graph.Shape("text")), "", body=finished, outputs=["chosen", "probabilities"]
    )
    classes = np.array(parts.classes)
    graph.add("Gather", classes, "chosen", outputs=["label"])
    whole = graph.finish(
        [("text", STRING, ["n"])],
        [("label", LABELS[classes.dtype.kind], ["n"]), ("probabilities", FLOAT, ["n", len(classes)])],
    )
    helper = graph.helper
    opsets = {"": OPSET, ML: ML_OPSET, MICROSOFT: 1}
    return helper.make_model(
        whole,
        opset_imports=[helper.make_opsetid(*pair) for pair in opsets.items()],
        ir_version=IR_VERSION,
        producer_name="dropglm",
        doc_string="Texts in (n strings); labels and probabilities out, in the order of the classes "
        f"{', '.join(map(str, parts.classes))}.",
    )


def _predictors(graph: Graph, tokens: str, parts: LinearText) -> str:
    """Add nodes that compute the K predictors of a text, in double precision."""
    d = len(parts.vocabulary)
    # Unknown n-grams have a column of their own, whose factor is 0; it also keeps tensors from being empty.
    columns = graph.Concat(*_columns(graph, tokens, parts), np.array([d]), axis=0)
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
    return graph.Add(graph.Reshape(eta, np.array([-1])), parts.intercept.astype(np.float64))


def _columns(graph: Graph, tokens: str, parts: LinearText) -> list[str]:
    """Add nodes that find the column of each n-gram; one tensor for each n.

    An n-gram is a pair: its first n - 1 tokens, which are numbered among those that begin an n-gram of the
    vocabulary, and its last token.
    """
    spelling, d = parts.vocabulary._spelling.astype(np.int64), len(parts.vocabulary)
    words = parts.vocabulary._words
    V, end = len(words), np.array([2**62])
    last = _numbered(graph, tokens, {word: k for k, word in enumerate(words)}, V)
    code, numbers, known, found = last, spelling[:, 0], V, []
    lengths = parts.vocabulary._lengths
    for n in range(1, int(lengths.max()) + 1):
        if n > 1:
            longer = lengths >= n
            keys = np.where(longer, numbers * (V + 1) + spelling[:, n - 1], -1)
            table, inverse = np.unique(keys[longer], return_inverse=True)
            numbers, known = np.zeros(d, np.int64), len(table)
            numbers[longer] = inverse
            head = graph.Mul(graph.Slice(code, np.array([0]), np.array([-1])), np.array(V + 1))
            key = graph.Add(head, graph.Slice(last, np.array([n - 1]), end))
            code = graph.LabelEncoder(
                key, domain=ML, keys_int64s=table, values_int64s=np.arange(known), default_int64=known
            )
        column = np.full(known + 1, d)
        column[numbers[lengths == n]] = np.flatnonzero(lengths == n)
        if n >= parts.ngram_range[0]:
            found.append(graph.Gather(column, code))
    return found


def _outputs(graph: Graph, eta: str, parts: LinearText) -> None:
    """Add nodes for the number of the best class, and for the probabilities."""
    if parts.link == "logistic":
        shares = graph.Concat(graph.Sigmoid(graph.Neg(eta)), graph.Sigmoid(eta), axis=0)
        best = graph.Cast(graph.Greater(eta, np.array([0.0])), to=INT64)
    else:
        best = graph.ArgMax(eta, axis=0, keepdims=0)
        shares = graph.Softmax(eta, axis=0) if parts.link == "softmax" else graph.Sigmoid(eta)
        shares = graph.Div(shares, graph.ReduceSum(shares))
    graph.add("Reshape", best, np.array([], np.int64), outputs=["best"])
    graph.add("Cast", shares, to=FLOAT, outputs=["shares"])
    graph.add("Identity", np.array(True), outputs=["still"])
