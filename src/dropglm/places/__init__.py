"""Where the rows of a fit are: in memory, on a GPU or in partitions, behind the same few verbs.

``rows.TrainingRows`` lists them: ``prepare`` the rows for some folds, build the ``problem`` of a class and a
fold, ``fit_candidates`` of a search, and return ``held_out_predictors``, ``class_totals`` and
``unlabeled_totals``. Estimators and the search use nothing else. Each place has its own subclass:

- ``rows.RowsInMemory``: verbs are loops over a matrix, and fits of a search start near each other and run on
  threads (``candidate_fits``);
- ``gpu.fits.RowsOnGpu``: the matrix is on the GPU, and all fits of a stage of a search run at once;
- ``partitions.rows.RowsInPartitions``: a verb is a request to all partitions, whose sums an ``Engine`` adds
  up, in this process or on Dask (``dropglm.dask``).
"""
