"""Data sets by name, with one module per data set or group of related ones; see ``load_dataset``."""

from dropglm.datasets.dataset import Dataset, DatasetError
from dropglm.datasets.load import DATASETS, Listing, fetch, listing, load_dataset, where

__all__ = ["DATASETS", "Dataset", "DatasetError", "Listing", "fetch", "listing", "load_dataset", "where"]
