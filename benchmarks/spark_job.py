"""LogisticRegression of Spark ML on IMDB's bigrams, run by ``benchmarks.dask_overhead``.

Labelled rows only, with ½‖β‖² like dropglm's l2 = 1: Spark minimises the mean loss plus ½ regParam ‖β‖².
"""

import json
import sys
import time


def main(path: str) -> None:
    import numpy as np
    import pyspark
    from pyspark.ml.classification import LogisticRegression
    from pyspark.ml.linalg import Vectors, VectorUDT
    from pyspark.sql import SparkSession
    from pyspark.sql.types import DoubleType, StructField, StructType

    file = np.load(path)
    indices, indptr, data = file["indices"], file["indptr"], file["data"].astype(float)
    y, (n, d) = file["y"].astype(float), map(int, file["shape"])
    session = SparkSession.builder.master("local[2]").config("spark.driver.memory", "8g")
    spark = session.config("spark.ui.enabled", "false").getOrCreate()
    rows = []
    for i in range(n):
        own = slice(indptr[i], indptr[i + 1])
        order = np.argsort(indices[own])
        rows.append((float(y[i]), Vectors.sparse(d, indices[own][order].tolist(), data[own][order].tolist())))
    schema = StructType([StructField("label", DoubleType()), StructField("features", VectorUDT())])
    frame = spark.createDataFrame(rows, schema).repartition(2).cache()
    frame.count()
    model = LogisticRegression(regParam=1.0 / n, standardization=False, tol=1e-4, maxIter=200)
    start = time.perf_counter()
    fitted = model.fit(frame)
    taken = time.perf_counter() - start
    iterations = fitted.summary.totalIterations
    name = f"Spark ML {pyspark.__version__}, local[2]: labelled rows only, no dropout"
    print(json.dumps({"name": name, "time": f"{taken:.1f} s, {iterations} iterations"}))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
