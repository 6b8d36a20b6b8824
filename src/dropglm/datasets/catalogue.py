"""All data sets by name."""

from dropglm.datasets.athr import ATHR
from dropglm.datasets.docstrings import DOCSTRINGS
from dropglm.datasets.entry import Entry
from dropglm.datasets.imdb import IMDB
from dropglm.datasets.imdb2k import IMDB2K
from dropglm.datasets.newsgroups import BBCRYPT, NEWSGROUPS, XGRAPH
from dropglm.datasets.sentences import RT, SUBJ
from dropglm.datasets.simulation import SIMULATION

DATASETS: dict[str, Entry] = {
    "20news": NEWSGROUPS,
    "athr": ATHR,
    "bbcrypt": BBCRYPT,
    "docstrings": DOCSTRINGS,
    "imdb": IMDB,
    "imdb2k": IMDB2K,
    "rt": RT,
    "simulation": SIMULATION,
    "subj": SUBJ,
    "xgraph": XGRAPH,
}
