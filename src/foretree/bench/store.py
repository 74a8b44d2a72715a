"""One SQLite file that remembers every cell: safe to kill, shared by any number of processes."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import threading
import time
from collections.abc import Iterable
from contextlib import closing
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path

import pandas as pd

_LAYOUT = 1
_BUSY_MILLISECONDS = 60_000
CLAIM_SECONDS = 60.0
"""A claim whose owner has not been heard of for so long is free again."""


@dataclass(frozen=True, order=True)
class Key:
    """What makes a cell: the same key is the same work."""

    dataset: str
    data_version: str
    fold: int
    depth: int
    method: str
    params: str
    code_version: str


@dataclass(frozen=True)
class Outcome:
    """What a cell gave; numbers are None where it gave none, and then `reason` says why."""

    status: str
    reason: str = ""
    train_accuracy: float | None = None
    test_accuracy: float | None = None
    train_balanced: float | None = None
    test_balanced: float | None = None
    n_leaves: int | None = None
    loss: float | None = None
    fit_seconds: float | None = None
    predict_seconds: float | None = None
    peak_bytes: int | None = None


STATUSES = {
    "ok": "done",
    "limit": "an answer, but the time limit came before the proof",
    "timeout": "no answer within the time limit",
    "failed": "an error, named in the reason",
    "skipped": "a shallower depth had no answer",
}
ANSWERED = ("ok", "limit")
UNFINISHED = ("limit", "timeout", "failed", "skipped")
"""What another try may better."""

_KEYS = [field.name for field in fields(Key)]
_VALUES = [field.name for field in fields(Outcome)]
_TYPES = {"fold": "INTEGER", "depth": "INTEGER", "n_leaves": "INTEGER", "peak_bytes": "INTEGER"}
_TEXTS = {*_KEYS, "status", "reason"}


def _column(name: str) -> str:
    kind = _TYPES.get(name, "TEXT" if name in _TEXTS else "REAL")
    return f"{name} {kind}{' NOT NULL' if name in _TEXTS else ''}"


_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS runs (
    run INTEGER PRIMARY KEY, started REAL NOT NULL, command TEXT NOT NULL, machine TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS cells (
    {", ".join(map(_column, [*_KEYS, *_VALUES]))},
    run INTEGER, finished REAL NOT NULL, PRIMARY KEY ({", ".join(_KEYS)})) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS claims (
    {", ".join(map(_column, _KEYS))}, owner TEXT NOT NULL, since REAL NOT NULL,
    PRIMARY KEY ({", ".join(_KEYS)})) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS owners (owner TEXT PRIMARY KEY, seen REAL NOT NULL) WITHOUT ROWID;
"""
_MATCH = " AND ".join(f"{name} = ?" for name in _KEYS)


class Store:
    """The cells of a study in one file; every write is one transaction."""

    def __init__(self, path: Path) -> None:
        """Open the file, making it and its folder where they do not exist."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{time.monotonic_ns()}"
        # joblib hands out work from its own threads, one at a time.
        self._lock = threading.RLock()
        self._db = sqlite3.connect(path, timeout=_BUSY_MILLISECONDS / 1000, check_same_thread=False)
        self._db.isolation_level = None
        self._db.execute(f"PRAGMA busy_timeout = {_BUSY_MILLISECONDS}")
        try:
            self._write_ahead()
        except sqlite3.DatabaseError as error:
            self._db.close()
            raise ValueError(f"{path} cannot be used as a store: {error}.") from error
        # A killed process loses nothing at NORMAL; only a power cut may cost the last commits.
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._prepare()

    def _write_ahead(self) -> None:
        # Of two that open a new file at once, SQLite refuses one of them here without waiting.
        last = time.monotonic() + _BUSY_MILLISECONDS / 1000
        while True:
            try:
                self._db.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > last:
                    raise
                time.sleep(0.01)
            else:
                return

    def _prepare(self) -> None:
        (layout,) = self._db.execute("PRAGMA user_version").fetchone()
        if layout not in (0, _LAYOUT):
            self._db.close()
            raise ValueError(
                f"{self.path} was written with store layout {layout}, this foretree reads {_LAYOUT}; "
                "start a new file with --store."
            )
        with self._transaction():
            for statement in _SCHEMA.split(";"):
                self._db.execute(statement)
            self._db.execute(f"PRAGMA user_version = {_LAYOUT}")

    def _transaction(self) -> _Transaction:
        return _Transaction(self._db, self._lock)

    def close(self) -> None:
        """Give back what this process claimed and close the file."""
        with self._transaction():
            self._db.execute("DELETE FROM claims WHERE owner = ?", [self.owner])
            self._db.execute("DELETE FROM owners WHERE owner = ?", [self.owner])
        self._db.close()

    def start_run(self, command: str, machine: dict[str, str]) -> int:
        """Note that a run began, on what machine and by what command; return its number."""
        with self._transaction():
            row = [time.time(), command, json.dumps(machine)]
            cursor = self._db.execute("INSERT INTO runs (started, command, machine) VALUES (?, ?, ?)", row)
        return int(cursor.lastrowid or 0)

    def put(self, key: Key, outcome: Outcome, run: int | None = None) -> None:
        """Store one cell, replacing an earlier outcome of the same key, and drop its claim."""
        row = [*astuple(key), *astuple(outcome), run, time.time()]
        marks = ", ".join("?" * len(row))
        with self._transaction():
            self._db.execute(f"INSERT OR REPLACE INTO cells VALUES ({marks})", row)
            self._db.execute(f"DELETE FROM claims WHERE {_MATCH}", astuple(key))

    def get(self, key: Key) -> Outcome | None:
        """Return a cell's outcome, or None."""
        names = ", ".join(_VALUES)
        with self._lock:
            row = self._db.execute(f"SELECT {names} FROM cells WHERE {_MATCH}", astuple(key)).fetchone()
        return None if row is None else Outcome(*row)

    def keys(self, statuses: Iterable[str] = STATUSES) -> set[Key]:
        """Return the keys of all cells with one of these statuses."""
        wanted = list(statuses)
        marks = ", ".join("?" * len(wanted))
        query = f"SELECT {', '.join(_KEYS)} FROM cells WHERE status IN ({marks})"
        with self._lock:
            return {Key(*row) for row in self._db.execute(query, wanted)}

    def claim(self, key: Key, retry_before: float | None = None) -> bool:
        """Return whether the cell is this process's to do: not stored, not another living process's.

        An unfinished cell stored before the time `retry_before` counts as not stored, and is removed.
        """
        now = time.time()
        with self._transaction():
            self._db.execute("INSERT OR REPLACE INTO owners VALUES (?, ?)", [self.owner, now])
            query = f"SELECT status, finished FROM cells WHERE {_MATCH}"
            stored = self._db.execute(query, astuple(key)).fetchone()
            if stored is not None and not _again(stored, retry_before):
                return False
            query = (
                f"SELECT claims.owner, owners.seen FROM claims LEFT JOIN owners USING (owner) WHERE {_MATCH}"
            )
            held = self._db.execute(query, astuple(key)).fetchone()
            if held is not None and held[0] != self.owner and _alive(held[0], held[1], now):
                return False
            marks = ", ".join("?" * (len(_KEYS) + 2))
            row = [*astuple(key), self.owner, now]
            self._db.execute(f"INSERT OR REPLACE INTO claims VALUES ({marks})", row)
            self._db.execute(f"DELETE FROM cells WHERE {_MATCH}", astuple(key))
        return True

    def unanswered_depth(self, key: Key) -> int | None:
        """Return a shallower depth at which the same work got no answer in time, or None."""
        same = [name for name in _KEYS if name != "depth"]
        query = (
            f"SELECT min(depth) FROM cells WHERE {' AND '.join(f'{name} = ?' for name in same)} "
            "AND depth < ? AND status IN ('timeout', 'skipped')"
        )
        values = [getattr(key, name) for name in same]
        with self._lock:
            (depth,) = self._db.execute(query, [*values, key.depth]).fetchone()
        return None if depth is None else int(depth)

    def heartbeat(self) -> None:
        """Tell the other processes that this one still lives."""
        with self._transaction():
            self._db.execute("INSERT OR REPLACE INTO owners VALUES (?, ?)", [self.owner, time.time()])

    def cells(self) -> pd.DataFrame:
        """Return every cell as a row, oldest first."""
        return read_cells(self.path)

    def runs(self) -> pd.DataFrame:
        """Return every run as a row, oldest first."""
        with self._lock:
            return pd.read_sql_query("SELECT * FROM runs ORDER BY run", self._db)


class _Transaction:
    """A write transaction that takes the file's lock at once, so that read-then-write is one step."""

    def __init__(self, db: sqlite3.Connection, lock: threading.RLock) -> None:
        self._db, self._lock = db, lock

    def __enter__(self) -> None:
        self._lock.acquire()
        try:
            self._db.execute("BEGIN IMMEDIATE")
        except BaseException:
            self._lock.release()
            raise

    def __exit__(self, kind: type[BaseException] | None, *_rest: object) -> None:
        try:
            self._db.execute("COMMIT" if kind is None else "ROLLBACK")
        finally:
            self._lock.release()


def _again(stored: tuple[str, float], retry_before: float | None) -> bool:
    status, finished = stored
    return retry_before is not None and status in UNFINISHED and finished < retry_before


def _alive(owner: str, seen: float | None, now: float) -> bool:
    if seen is None or now - seen > CLAIM_SECONDS:
        return False
    host, pid, _ = owner.rsplit(":", 2)
    if host != socket.gethostname() or int(pid) == os.getpid():
        return True
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def read_cells(path: Path) -> pd.DataFrame:
    """Return every cell of a store as a row, oldest first, without writing to it."""
    with closing(sqlite3.connect(path, timeout=_BUSY_MILLISECONDS / 1000)) as db:
        try:
            cursor = db.execute("SELECT * FROM cells ORDER BY finished")
        except sqlite3.DatabaseError as error:
            raise ValueError(f"{path} cannot be used as a store: {error}.") from error
        return pd.DataFrame(cursor.fetchall(), columns=[column[0] for column in cursor.description])


def as_row(key: Key, outcome: Outcome) -> dict[str, object]:
    """Return a cell as one flat dict."""
    return {**asdict(key), **asdict(outcome)}
