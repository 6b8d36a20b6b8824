"""Columns of a table as blocks of features."""

from collections.abc import Sequence
from typing import Any

from sklearn.compose import ColumnTransformer

from dropglm.base.blocks import Blocks


# scikit-learn must not turn the blocks into a table, whatever its setting for the output of transformers.
class BlockTransformer(ColumnTransformer, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Apply a transformer to each group of columns, and keep the results as blocks.

    This is scikit-learn's ColumnTransformer, with the same parameters, methods and attributes, except that
    the results are returned as ``Blocks`` rather than concatenated. So an estimator can treat the blocks
    differently, and dense results stay dense beside sparse ones. The blocks are in the order of the
    transformers; one that is dropped or has no columns has no block, and remaining columns that are passed
    through are the last block.

    Parameters
    ----------
    transformers : list of tuples (name, transformer, columns)
        The transformers and their columns; a single name instead of a list passes the column itself, as
        vectorizers need.
    remainder : {"drop", "passthrough"} or estimator, default="drop"
        What becomes of the other columns.
    sparse_threshold : float, default=0.3
        Without effect: each result keeps its form.
    n_jobs : int, default=None
        Number of transformers that are fitted in parallel.
    transformer_weights : dict, default=None
        Factors of the results, by the name of the transformer.
    verbose : bool, default=False
        Whether to print the time that each transformer takes.
    verbose_feature_names_out : bool, str or callable, default=True
        Whether the names of features start with those of the transformers.

    Attributes
    ----------
    transformers_ : list of tuples (name, fitted transformer, columns)
        The fitted transformers, and what became of the other columns.
    named_transformers_ : Bunch
        The fitted transformers by name.
    n_features_in_ : int
        Number of columns of the table.
    feature_names_in_ : ndarray of shape (n_features_in,)
        Their names, if they are strings.

    See Also
    --------
    Blocks : What this returns.
    PerBlock : A setting with one value per block.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from dropglm import BlockTransformer, LogisticRegression, NgramVectorizer, PerBlock
    >>> table = pd.DataFrame({"text": ["good film", "bad film", "good", "bad plot"], "length": [9, 8, 4, 8]})
    >>> steps = [("words", NgramVectorizer(), "text"), ("numbers", StandardScaler(), ["length"])]
    >>> blocks = BlockTransformer(steps)
    >>> blocks.fit_transform(table)
    Blocks of shape (4, 5): csr (4, 4), dense (4, 1)
    >>> model = make_pipeline(blocks, LogisticRegression(dropout=PerBlock(0.5, 0.0), l2=0.1))
    >>> model.fit(table, ["pos", "neg", "pos", "neg"]).predict(table)
    array(['pos', 'neg', 'pos', 'neg'], dtype='<U3')
    """

    def _hstack(self, Xs: Sequence[Any], *, n_samples: int) -> Blocks:
        """Return the results as blocks; ColumnTransformer leaves this step to subclasses."""
        return Blocks(*Xs)
