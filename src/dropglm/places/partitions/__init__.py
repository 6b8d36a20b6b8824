"""Fits to rows in partitions, wherever these are: the same sums over rows, added up by an engine."""

from dropglm.places.partitions.contents import Rows
from dropglm.places.partitions.engine import Engine, SerialEngine
from dropglm.places.partitions.rows import fit, fit_partitions

__all__ = ["Engine", "Rows", "SerialEngine", "fit", "fit_partitions"]
