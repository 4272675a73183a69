"""The sides of the suite, in the order in which each round runs them."""

from peers.adbc import Adbc
from peers.inrush import Inrush
from peers.peer import Peer
from peers.pgloader import Pgloader
from peers.psql import Psql
from peers.server_alone import ServerAlone
from peers.with_dlt import Dlt
from peers.with_duckdb import DuckDb

ALL: tuple[type[Peer], ...] = (Inrush, Psql, ServerAlone, DuckDb, Adbc, Dlt, Pgloader)
