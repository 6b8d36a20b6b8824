"""The transformers of scikit-learn that turn texts into a sparse matrix: of n-grams, or of hashed n-grams."""

from collections.abc import Iterable
from copy import copy
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin

from dropglm.base import checks
from dropglm.base.errors import InputError
from dropglm.text.ngrams.counting import NgramRows
from dropglm.text.ngrams.features import NgramFeatures
from dropglm.text.ngrams.hashed import HashedFeatures
from dropglm.text.ngrams.merged_counts import NgramCounts


class TextEstimator(BaseEstimator):
    """An estimator whose input is a sequence of strings."""

    def __sklearn_tags__(self) -> Any:
        """Declare to scikit-learn that X holds strings and is one-dimensional."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


class TextTransformer(TransformerMixin, TextEstimator):
    """A transformer of texts.

    Like those of scikit-learn, it has no set_output: a data frame cannot hold a sparse matrix.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(auto_wrap_output_keys=None, **options)

    def __sklearn_tags__(self) -> Any:
        """Declare to scikit-learn that the type of the output does not depend on the input."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags


class NgramVectorizer(NgramFeatures, TextTransformer):
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
    lowercase : bool, default=True
        Convert texts to lower case first.
    token_pattern : str, default=WORDS_AND_PUNCTUATION
        Regular expression that matches a token; if it has a group, the group is the token. The default,
        which is a constant in ``dropglm.text.ngrams.tokens``, matches words including apostrophes, and every
        other visible character on its own, also the letters of scripts that do not separate words by spaces:
        Chinese, Japanese, Thai, Lao, Khmer, Burmese and Tibetan. The default and that of scikit-learn are
        fast; other patterns take the time of ``re.findall``.
    strip_html : bool, default=True
        Replace tags such as ``<br />`` by spaces.
    n_jobs : int or None, default=None
        Number of threads; None means 1, -1 all cores. The result does not depend on it.
    verbose : int, default=0
        If not 0, show progress on standard error.
    strip_accents : {"ascii", "unicode"}, callable or None, default=None
        Replace accented letters by plain ones: "ascii" also drops all characters that are not ASCII,
        "unicode" keeps other scripts.
    stop_words : "english", iterable of str, or None, default=None
        Words to drop before n-grams are formed.
    analyzer : {"word", "char", "char_wb"} or callable, default="word"
        N-grams of words, of characters, or of characters within words, as in scikit-learn; or a function from
        a document to the list of its n-grams, which is slow.
    preprocessor : callable or None, default=None
        Function that replaces the conversion to lower case and the removal of HTML tags and accents.
    tokenizer : callable or None, default=None
        Function from a preprocessed text to the list of its tokens, instead of ``token_pattern``; slow.
    input : {"content", "file", "filename"}, default="content"
        Whether X has the texts themselves, file objects, or paths.
    encoding : str, default="utf-8"
        Encoding of texts that are given as bytes.
    decode_error : {"strict", "ignore", "replace"}, default="strict"
        What to do with bytes that are not valid in this encoding.
    fields : sequence of str or None, default=None
        If given, texts are JSON objects, and each of these names has n-grams of its own, of the strings that
        the objects have under it. Rows are normalised field by field, so that each field has the same norm.
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
        Adjacent characters of scripts without spaces between words are one word.
    vocabulary : mapping, iterable of str, or None, default=None
        The features, if they are known: the column of each n-gram, or the n-grams in the order of their
        columns. ``fit`` then only counts the texts that contain them.
    dtype : type, default=np.float32
        Type of the matrix entries; weighted entries are float64 if this is an integer type.

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
        self._fit_counts(X, keep=False)
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
        self._weigh(counts)
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
            raise InputError(f"X has {rows.shape[1]} columns, but the vocabulary has {len(names)} n-grams.")
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
        counted = self._count(X)
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
            self._select(total.trie, total.n_texts)
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

    def _fit_counts(self, X: Iterable[Any], *, keep: bool = True) -> Any:
        """Learn the vocabulary; if ``keep``, return the matrix before it is weighted."""
        self._begin_fit()
        if self.vocabulary is not None:
            return self._count_given(X, keep=keep)
        rows = NgramRows() if keep else None
        columns = self._learn(X, rows)
        return None if rows is None else self._to_matrix(rows, columns, self._value_type())

    def _with_ngram_weight(self, counts: Any, ngram_weight: float) -> tuple[Self, Any]:
        """Return this fitted vectorizer with another weight of longer n-grams, and its matrix.

        ``merged_counts``, which ``_fit_counts`` returned, stays as it is, so several weights share one count.
        """
        vectorizer = copy(self).set_params(ngram_weight=ngram_weight)
        vectorizer._check_weights()
        vectorizer._set_vocabulary(copy(self.ngrams_), self.n_texts_)
        values = np.empty_like(counts.data), counts.indices, counts.indptr
        matrix = type(counts)(values, shape=counts.shape)
        vectorizer._weigh(matrix, counts.data)
        return vectorizer, matrix


class NgramHasher(HashedFeatures, TextTransformer):
    r"""Convert texts to a sparse matrix of hashed n-grams.

    An entry is 1 if the text contains an n-gram that is hashed to the column. There is nothing to fit, and
    memory does not grow with the number of texts. Different n-grams can share a column, which costs little
    accuracy as long as there are more columns than frequent n-grams.

    Parameters
    ----------
    bits : int, default=20
        The matrix has 2**bits columns; at most 30.
    ngram_range : tuple (int, int), default=(1, 2)
        The smallest and the largest n.
    lowercase : bool, default=True
        Convert texts to lower case first.
    token_pattern : str, default=WORDS_AND_PUNCTUATION
        Regular expression that matches a token, as in ``NgramVectorizer``.
    strip_html : bool, default=True
        Replace tags such as ``<br />`` by spaces.
    n_jobs : int or None, default=None
        Number of threads; None means 1, -1 all cores. The result does not depend on it.
    verbose : int, default=0
        If not 0, show progress on standard error.

    Attributes
    ----------
    ngrams_ : Buckets
        Names of the columns, if ``partial_fit`` has recorded them; the hasher of a fitted
        ``OnlineTextClassifier`` also has them.
    n_texts_ : int
        Number of texts from which the names were taken.

    See Also
    --------
    NgramVectorizer : N-grams with a vocabulary.
    OnlineTextClassifier : A classifier that uses this hasher.

    Examples
    --------
    >>> from dropglm import NgramHasher
    >>> X = NgramHasher(bits=10).fit_transform(["It's dull!", "Dull<br />film"])
    >>> X.shape, X.nnz
    ((2, 1024), 8)

    Names are optional, and taken from the texts that the hasher is shown:

    >>> hasher = NgramHasher(bits=10).partial_fit(["a dull film"])
    >>> columns = hasher.transform(["a dull story"]).indices
    >>> sorted(hasher.get_feature_names_out()[columns])
    ['a', 'a dull', 'dull', 'ngramhasher639', 'ngramhasher758']
    """

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Check the settings and forget names of columns; there is nothing to learn.

        Parameters
        ----------
        X : None
            Ignored.
        y : None
            Ignored.

        Returns
        -------
        Self
            The estimator itself.
        """
        self._check()
        for name in ("ngrams_", "n_texts_"):
            if hasattr(self, name):
                delattr(self, name)
        return self

    def partial_fit(self, X: Iterable[str], y: Any = None) -> Self:
        """Name columns after the n-grams of these texts; the matrix does not depend on it.

        A column keeps the first n-gram that is hashed to it, of which the first 32 bytes are recorded. The
        names take 6 bytes per column, and their own bytes.

        Parameters
        ----------
        X : iterable of str
            Texts.
        y : None
            Ignored.

        Returns
        -------
        Self
            The estimator itself.
        """
        for _ in self._hash_and_name(X):
            pass
        return self

    def fit_transform(self, X: Iterable[str], y: Any = None) -> Any:
        """Return the matrix of the texts, as ``transform`` does.

        Parameters
        ----------
        X : iterable of str
            Texts.
        y : None
            Ignored.

        Returns
        -------
        CSR matrix of shape (n, 2**bits)
            One row per text.
        """
        return self.fit().transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return a name for each column.

        It is the first n-gram that was hashed to the column in ``partial_fit``; further n-grams may share the
        column. Column j has the name "ngramhasher{j}" if there was none.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        ndarray of str objects, of shape (2**bits,)
            Names, in the order of the columns.
        """
        size = self._check()[2]
        names = np.array([f"ngramhasher{j}" for j in range(size)], dtype=object)
        if len(getattr(self, "ngrams_", ())) == size:
            used = np.flatnonzero(self.ngrams_.lengths)
            names[used] = self.ngrams_.names(used)
        return names

    def __sklearn_tags__(self) -> Any:
        """Declare to scikit-learn that there is nothing to fit."""
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags
