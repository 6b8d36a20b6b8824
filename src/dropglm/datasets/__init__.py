"""Data sets, one file each or one for a family of them; ``load_dataset`` is the door."""

from dropglm.datasets.catalogue import DATASETS
from dropglm.datasets.dataset import Dataset
from dropglm.datasets.errors import DatasetError
from dropglm.datasets.load import Listing, fetch, listing, load_dataset, where

__all__ = ["DATASETS", "Dataset", "DatasetError", "Listing", "fetch", "listing", "load_dataset", "where"]
