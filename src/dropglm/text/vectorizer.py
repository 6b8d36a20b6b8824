"""Turning texts into a sparse matrix of n-grams."""

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from functools import partial
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import TransformerMixin

from dropglm import checks
from dropglm.text.estimator import TextEstimator
from dropglm.text.features import NgramFeatures
from dropglm.text.ngram_counts import NgramCounts
from dropglm.text.ngram_rows import NgramRows
from dropglm.text.tokens import WORDS_AND_PUNCTUATION


# Like CountVectorizer, it has no set_output: a data frame cannot hold a sparse matrix.
class NgramVectorizer(TransformerMixin, NgramFeatures, TextEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    r"""Convert texts to a sparse matrix of n-grams.

    For the same settings the matrix is that of scikit-learn's ``CountVectorizer`` or ``TfidfVectorizer``,
    computed several times as fast. Features are in alphabetical order. Texts are read in chunks, so ``fit``
    accepts a generator over more texts than fit into memory: only the vocabulary is kept, and the matrix for
    ``fit_transform``.

    Parameters
    ----------
    ngram_range : tuple (int, int), default=(1, 1)
        The smallest and the largest n.
    min_df : int, float or pair of these, default=1
        Keep n-grams that occur in at least this many texts; a float is a share of the texts. Of a pair, the
        first is for single words and the second for longer n-grams.
    max_df : int or float, default=1.0
        Keep n-grams that occur in at most this many texts; a float is a share of the texts.
    max_features : int or None, default=None
        If given, keep only this many n-grams, the most frequent ones.
    binary : bool, default=True
        If True, the matrix has 1 for every n-gram that occurs in a text; if False, it has counts.
    use_idf : bool, default=False
        Multiply by the inverse document frequency ln(N / N_j) + 1, where N_j of the N texts in ``fit``
        contain the n-gram.
    smooth_idf : bool, default=True
        Add one to N and to N_j, as if one more text contained every n-gram once.
    sublinear_tf : bool, default=False
        Replace a count c by 1 + ln c.
    norm : {"l1", "l2"} or None, default=None
        If given, divide each row by this norm.
    idf_power : float, default=1.0
        Power to which the inverse document frequency is raised.
    ngram_weight : float, default=1.0
        Multiply n-grams of n words by ``ngram_weight`` to the power n - 1, before the rows are normalised.
    lowercase : bool, default=True
        Convert texts to lower case first.
    token_pattern : str, default=r"[\\w']+|[^\\w\\s]"
        Regular expression that matches a token; if it has a group, the group is the token. The default
        matches words including apostrophes, and every other visible character on its own. The default and
        that of scikit-learn are fast; other patterns take the time of ``re.findall``.
    strip_html : bool, default=True
        Replace tags such as ``<br />`` by spaces.
    strip_accents : {"ascii", "unicode"}, callable or None, default=None
        Replace accented letters by plain ones: "ascii" also drops all characters that are not ASCII,
        "unicode" keeps other scripts.
    stop_words : "english", iterable of str, or None, default=None
        Words to drop before n-grams are formed.
    analyzer : {"word", "char", "char_wb"} or callable, default="word"
        N-grams of words, of characters, or of characters within words, as in scikit-learn; or a function from
        a document to the list of its n-grams. Only words are fast.
    preprocessor : callable or None, default=None
        Function that replaces the conversion to lower case and the removal of HTML tags and accents.
    tokenizer : callable or None, default=None
        Function from a preprocessed text to the list of its tokens, instead of ``token_pattern``; slow.
    vocabulary : mapping, iterable of str, or None, default=None
        The features, if they are known: the column of each n-gram, or the n-grams in the order of their
        columns. ``fit`` then only counts the texts that contain them.
    input : {"content", "file", "filename"}, default="content"
        Whether X has the texts themselves, file objects, or paths.
    encoding : str, default="utf-8"
        Encoding of texts that are given as bytes.
    decode_error : {"strict", "ignore", "replace"}, default="strict"
        What to do with bytes that are not valid in this encoding.
    dtype : type, default=np.float32
        Type of the matrix entries; weighted entries are float64 if this is an integer type.
    n_jobs : int or None, default=None
        Number of threads; None means 1, -1 all cores. The result does not depend on it.
    verbose : int, default=0
        If not 0, show progress on standard error.

    Attributes
    ----------
    vocabulary_ : dict
        Maps each n-gram to its column.
    ngrams_ : Vocabulary
        The n-grams in compact form: ``len(ngrams_)``, ``ngrams_.names(columns)`` and
        ``ngrams_.document_counts``.
    n_texts_ : int
        Number of texts seen in ``fit``.
    idf_ : ndarray of shape (n_features,)
        Inverse document frequencies, before ``idf_power``; only if ``use_idf``.
    fixed_vocabulary_ : bool
        Whether the features were given as ``vocabulary``.

    See Also
    --------
    NgramHasher : The same without a vocabulary, by hashing.
    TextClassifier : A classifier that uses this vectorizer.

    Examples
    --------
    >>> from dropglm import NgramVectorizer
    >>> vectorizer = NgramVectorizer(ngram_range=(1, 2))
    >>> X = vectorizer.fit_transform(["It's dull!", "Dull<br />film", ""])
    >>> print(*vectorizer.get_feature_names_out(), sep=", ")
    !, dull, dull !, dull film, film, it's, it's dull
    >>> X.toarray()
    array([[1., 1., 1., 0., 0., 1., 1.],
           [0., 1., 0., 1., 1., 0., 0.],
           [0., 0., 0., 0., 0., 0., 0.]], dtype=float32)

    Rows of length 1, weighted by the inverse document frequency:

    >>> vectorizer = NgramVectorizer(use_idf=True, norm="l2")
    >>> vectorizer.fit_transform(["so dull", "so so", "a dull film"]).toarray().round(2)
    array([[0.  , 0.71, 0.  , 0.71],
           [0.  , 0.  , 0.  , 1.  ],
           [0.62, 0.47, 0.62, 0.  ]], dtype=float32)
    """

    def __init__(
        self,
        ngram_range: tuple[int, int] = (1, 1),
        min_df: float | tuple[float, float] = 1,
        max_df: float = 1.0,
        max_features: int | None = None,
        *,
        binary: bool = True,
        use_idf: bool = False,
        smooth_idf: bool = True,
        sublinear_tf: bool = False,
        norm: str | None = None,
        idf_power: float = 1.0,
        ngram_weight: float = 1.0,
        lowercase: bool = True,
        token_pattern: str | None = WORDS_AND_PUNCTUATION,
        strip_html: bool = True,
        strip_accents: str | Callable[[str], str] | None = None,
        stop_words: str | Iterable[str] | None = None,
        analyzer: str | Callable[[Any], Iterable[str]] = "word",
        preprocessor: Callable[[Any], str] | None = None,
        tokenizer: Callable[[str], Iterable[str]] | None = None,
        vocabulary: Mapping[str, int] | Iterable[str] | None = None,
        input: str = "content",
        encoding: str = "utf-8",
        decode_error: str = "strict",
        dtype: Any = np.float32,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.ngram_range = ngram_range
        self.min_df = min_df
        self.max_df = max_df
        self.max_features = max_features
        self.binary = binary
        self.use_idf = use_idf
        self.smooth_idf = smooth_idf
        self.sublinear_tf = sublinear_tf
        self.norm = norm
        self.idf_power = idf_power
        self.ngram_weight = ngram_weight
        self.lowercase = lowercase
        self.token_pattern = token_pattern
        self.strip_html = strip_html
        self.strip_accents = strip_accents
        self.stop_words = stop_words
        self.analyzer = analyzer
        self.preprocessor = preprocessor
        self.tokenizer = tokenizer
        self.vocabulary = vocabulary
        self.input = input
        self.encoding = encoding
        self.decode_error = decode_error
        self.dtype = dtype
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Iterable[Any], y: Any = None) -> Self:
        """Learn the vocabulary.

        Parameters
        ----------
        X : iterable of str
            Texts: a list, a column of a data frame, a generator, or any other iterable of strings.
        y : None
            Ignored.

        Returns
        -------
        Self
            The estimator itself.
        """
        self._begin_fit()
        if self.vocabulary is None:
            self._learn(X, None)
        else:
            self._count_given(X, keep=False)
        return self

    def fit_transform(self, X: Iterable[Any], y: Any = None) -> Any:
        """Learn the vocabulary and return the matrix; faster than ``fit`` followed by ``transform``.

        Parameters
        ----------
        X : iterable of str
            Texts.
        y : None
            Ignored.

        Returns
        -------
        CSR matrix of shape (n, n_features)
            One row per text.
        """
        counts = self._fit_counts(X)
        self._tfidf.apply(counts, checks.threads(self.n_jobs))
        return counts

    def inverse_transform(self, X: Any) -> list[np.ndarray]:
        """Return the n-grams of each row.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_features)
            Rows of features.

        Returns
        -------
        list of n ndarrays of str objects
            The n-grams whose entries are not zero.
        """
        names = self.get_feature_names_out()
        rows = sparse.csr_array(checks.features(X))
        if rows.shape[1] != len(names):
            raise ValueError(f"X has {rows.shape[1]} columns, but the vocabulary has {len(names)} n-grams.")
        rows.eliminate_zeros()
        return np.split(names[rows.indices], rows.indptr[1:-1])

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the n-gram of each column.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        ndarray of str objects, of shape (n_features,)
            N-grams, in the order of the columns.
        """
        return np.array(self._vocabulary().names(), dtype=object)

    def count(self, X: Iterable[Any]) -> NgramCounts:
        """Count all n-grams of a part of the texts, for ``fit_counts``.

        The counts are small and can be pickled, so that parts can be counted by several processes or
        machines. They depend on how texts are split, but not on ``min_df``, ``max_df``, ``max_features``,
        ``vocabulary`` or the weights. The vectorizer itself does not change.

        Parameters
        ----------
        X : iterable of str
            Texts; there may be none.

        Returns
        -------
        NgramCounts
            Counts of all n-grams, for ``fit_counts``.
        """
        self._begin_fit()
        counted = self._count(X, None)
        return NgramCounts(counted.trie, self._check_analysis()[0], counted.n_texts, self._settings())

    def fit_counts(self, counts: NgramCounts | Iterable[NgramCounts]) -> Self:
        """Learn the vocabulary from counted n-grams: the same as ``fit`` on all texts that were counted.

        Parameters
        ----------
        counts : NgramCounts or iterable of NgramCounts
            What ``count`` returned for each part of the texts, in any order, or the sum of these. The parts
            may come from a generator, which need not keep them.

        Returns
        -------
        Self
            The estimator itself.

        Examples
        --------
        >>> parts = [["so dull"], [], ["a dull film", "so"]]
        >>> vectorizer = NgramVectorizer(ngram_range=(1, 2), min_df=2)
        >>> vectorizer.fit_counts(vectorizer.count(texts) for texts in parts).vocabulary_
        {'dull': 0, 'so': 1}
        """
        self._begin_fit()
        total = NgramCounts.sum([counts] if isinstance(counts, NgramCounts) else counts)
        total.check_settings(self._settings())
        if self.vocabulary is None:
            selection, n = self._selection(), total.n_texts
            candidates = total.trie.candidates(total.shortest, partial(selection.document_range, n), n)
            self._set_vocabulary(selection.select(candidates, checks.threads(self.n_jobs))[0], n)
        else:
            given = self._given_for_fit()
            texts = total.trie.texts_with(given._letters, given._ends, given._spelling, total.shortest)
            self._set_vocabulary(given._with_counts(texts), total.n_texts)
        return self

    def to_sklearn(self) -> Any:
        """Return the fitted vectorizer as one of scikit-learn, which gives the same matrix without dropglm.

        Only two combinations of settings need dropglm still, since they need its ``Preprocessor``:
        ``strip_html`` with a ``token_pattern`` or ``analyzer`` other than the defaults of dropglm and
        scikit-learn, and ``strip_html`` with ``strip_accents``.

        Returns
        -------
        sklearn.feature_extraction.text.TfidfVectorizer
            Or a ``CountVectorizer``, if counts are not weighted. Its ``idf_`` is ``idf_`` to the power
            ``idf_power``, times the weights of longer n-grams.

        Examples
        --------
        >>> vectorizer = NgramVectorizer(ngram_range=(1, 2)).fit(["It's dull!", "Dull<br />film", ""])
        >>> vectorizer.to_sklearn().transform(["A dull<br>film"]).toarray()
        array([[0., 1., 0., 1., 1., 0., 0.]], dtype=float32)
        """
        from dropglm.text.sklearn_pipeline import sklearn_vectorizer

        self._vocabulary()
        checks.fitted(self, "_tfidf")
        return sklearn_vectorizer(self)

    def _fit_counts(self, X: Iterable[Any]) -> Any:
        """Learn the vocabulary and return the matrix before it is weighted."""
        self._begin_fit()
        if self.vocabulary is not None:
            return self._count_given(X, keep=True)
        rows = NgramRows()
        return self._to_matrix(rows, self._learn(X, rows), self._value_type())

    def _with_ngram_weight(self, counts: Any, ngram_weight: float) -> tuple[Self, Any]:
        """Return this fitted vectorizer with another weight of longer n-grams, and its matrix.

        ``counts``, which ``_fit_counts`` returned, stays as it is, so several weights share one count.
        """
        vectorizer = copy(self).set_params(ngram_weight=ngram_weight)
        vectorizer._check_weights()
        vectorizer._set_vocabulary(copy(self.ngrams_), self.n_texts_)
        values = np.empty_like(counts.data), counts.indices, counts.indptr
        matrix = type(counts)(values, shape=counts.shape)
        vectorizer._tfidf.apply(matrix, checks.threads(self.n_jobs), counts.data)
        return vectorizer, matrix

    def __init_subclass__(cls, auto_wrap_output_keys: Any = None, **options: Any) -> None:
        """Leave out set_output in subclasses as well."""
        super().__init_subclass__(auto_wrap_output_keys=auto_wrap_output_keys, **options)

    def __sklearn_tags__(self) -> Any:
        """Declare to scikit-learn that the output has the type ``dtype``, whatever the input."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags
