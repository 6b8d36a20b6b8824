"""LogisticRegression of dask-ml on IMDB's bigrams, run by ``benchmarks.dask_overhead``."""

import json
import sys
import time
import warnings
from importlib.metadata import version


def main(path: str) -> None:
    import dask.array as da
    import numpy as np
    from dask.delayed import delayed
    from dask.distributed import Client, LocalCluster
    from dask_ml.linear_model import LogisticRegression
    from scipy import sparse

    warnings.simplefilter("ignore")
    file = np.load(path)
    X = sparse.csr_matrix((file["data"], file["indices"], file["indptr"]), shape=tuple(file["shape"]))
    y, n = file["y"].astype(np.int64), X.shape[0]
    name = f"dask-ml {version('dask-ml')} with Dask {version('dask')}"
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    with cluster, Client(cluster):
        rows = [X[n * k // 4 : n * (k + 1) // 4] for k in range(4)]
        sizes = tuple(part.shape[0] for part in rows)
        parts = [da.from_delayed(delayed(part), part.shape, part.dtype, meta=part[:0]) for part in rows]
        model = LogisticRegression(solver="lbfgs", C=1.0, max_iter=100)
        try:
            start = time.perf_counter()
            model.fit(da.concatenate(parts).persist(), da.from_array(y, chunks=(sizes,)))
            found = f"{time.perf_counter() - start:.1f} s"
        except Exception as error:
            found = f"{type(error).__name__}: {str(error).splitlines()[0][:160]}"
    print(json.dumps({"name": name, "time": found}))


if __name__ == "__main__":
    main(sys.argv[1])
