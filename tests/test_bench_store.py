import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench_fakes import key, outcome
from foretree.bench.store import STATUSES, Key, Outcome, Store, as_row, read_cells

WRITER = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    from foretree.bench.store import Key, Outcome, Store
    store = Store(Path(sys.argv[1]))
    first, last = int(sys.argv[2]), int(sys.argv[3])
    for number in range(first, last):
        key = Key("toy", "v1", number, 2, "fake", "{}", "code 1")
        if store.claim(key):
            store.put(key, Outcome("ok", sys.argv[4], 0.5, 0.5))
            print(number, flush=True)
    """
)


def write(path, first, last, name):
    arguments = [sys.executable, "-c", WRITER, str(path), str(first), str(last), name]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)


@pytest.fixture
def store(tmp_path):
    opened = Store(tmp_path / "cells.sqlite")
    yield opened
    opened.close()


numbers = st.none() | st.floats(0, 1)


@settings(max_examples=40, deadline=None)
@given(
    st.builds(Key, *[st.text()] * 2, *[st.integers(0, 99)] * 2, *[st.text()] * 3),
    st.builds(
        Outcome, st.sampled_from(list(STATUSES)), st.text(), *[numbers] * 4, st.none() | st.integers(1, 500)
    ),
)
def test_what_is_put_is_what_is_got(tmp_path_factory, cell, result):
    store = Store(tmp_path_factory.mktemp("store") / "cells.sqlite")
    store.put(cell, result)
    assert store.get(cell) == result
    assert store.keys() == {cell}
    store.close()


def test_a_second_outcome_replaces_the_first(store):
    store.put(key(), Outcome("failed", "no"))
    store.put(key(), outcome(0.9, 0.8))
    assert store.get(key()) == outcome(0.9, 0.8)
    assert len(store.cells()) == 1


def test_a_killed_writer_loses_nothing_that_it_said_it_stored(tmp_path):
    path = tmp_path / "cells.sqlite"
    process = write(path, 0, 1_000_000, "victim")
    said = [process.stdout.readline() for _ in range(50)]
    os.kill(process.pid, signal.SIGKILL)
    said += process.stdout.readlines()
    process.wait()
    process.stdout.close()
    stored = {int(fold) for fold in read_cells(path)["fold"]}
    assert {int(line) for line in said if line.endswith("\n")} <= stored
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()


def test_after_a_kill_the_claims_of_the_dead_are_free(tmp_path):
    path = tmp_path / "cells.sqlite"
    claim = textwrap.dedent(
        f"""
        import time
        from pathlib import Path
        from bench_fakes import key
        from foretree.bench.store import Store
        print(Store(Path({str(path)!r})).claim(key()), flush=True)
        time.sleep(60)
        """
    )
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(__file__)}
    process = subprocess.Popen(
        [sys.executable, "-c", claim], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout.readline() == "True\n"
    store = Store(path)
    assert not store.claim(key())
    process.kill()
    process.wait()
    process.stdout.close()
    assert store.claim(key())
    store.close()


def test_two_writers_share_a_store_and_do_each_cell_once(tmp_path):
    path = tmp_path / "cells.sqlite"
    writers = [write(path, 0, 150, "one"), write(path, 0, 150, "two")]
    done = [writer.communicate()[0].split() for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0]
    assert sorted(map(int, done[0] + done[1])) == list(range(150))
    assert len(read_cells(path)) == 150


def test_opening_a_new_store_waits_for_another_that_is_opening_it(tmp_path, monkeypatch):
    refused = []

    class Busy(sqlite3.Connection):
        def execute(self, statement, *rest):
            # As SQLite does, whatever the timeout, to one of two that turn a file to WAL at once.
            if "journal_mode" in statement and len(refused) < 3:
                refused.append(statement)
                raise sqlite3.OperationalError("database is locked")
            return super().execute(statement, *rest)

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **named: connect(*given, factory=Busy, **named))
    store = Store(tmp_path / "cells.sqlite")
    assert store.claim(key())
    assert len(refused) == 3
    store.close()


def test_a_claim_keeps_others_away_until_its_owner_is_silent_too_long(store, monkeypatch):
    other = Store(store.path)
    monkeypatch.setattr(other, "owner", f"elsewhere:{os.getpid()}:1")
    assert other.claim(key())
    assert other.claim(key()), "one's own claim is no obstacle"
    assert not store.claim(key())
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 50)
    other.heartbeat()
    monkeypatch.setattr(time, "time", lambda: now + 100)
    assert not store.claim(key()), "the heartbeat was 50 seconds ago"
    monkeypatch.setattr(time, "time", lambda: now + 150)
    assert store.claim(key())
    other.close()


def test_a_stored_cell_cannot_be_claimed(store):
    store.put(key(), outcome(0.9, 0.8))
    assert not store.claim(key())
    assert not store.claim(key(), retry_before=time.time() + 1), "it is done"


@pytest.mark.parametrize("status", ["limit", "timeout", "failed", "skipped"])
def test_an_unfinished_cell_can_be_claimed_again_but_once_a_retry(store, status):
    store.put(key(), Outcome(status, "why", 0.5))
    assert not store.claim(key())
    now = time.time() + 1
    assert store.claim(key(), retry_before=now)
    assert store.get(key()) is None
    store.put(key(), Outcome(status, "again"))
    assert not store.claim(key(), retry_before=now - 2), "another process tried it since"
    assert store.get(key()).reason == "again"


def test_closing_gives_claims_back(store):
    other = Store(store.path)
    assert other.claim(key())
    assert not store.claim(key())
    other.close()
    assert store.claim(key())


def test_the_unanswered_depth_is_of_the_same_work_only(store):
    store.put(key(depth=3), Outcome("timeout", "slow"))
    assert store.unanswered_depth(key(depth=4)) == 3
    assert store.unanswered_depth(key(depth=3)) is None
    assert store.unanswered_depth(key(depth=2)) is None
    assert store.unanswered_depth(key(fold=2, depth=4)) is None
    assert store.unanswered_depth(replace(key(depth=4), code_version="code 2")) is None
    store.put(key(fold=2, depth=3), Outcome("failed", "a bug says nothing of deeper trees"))
    assert store.unanswered_depth(key(fold=2, depth=4)) is None


def test_a_store_of_another_layout_is_refused_in_one_sentence(tmp_path):
    path = tmp_path / "cells.sqlite"
    Store(path).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(ValueError, match=r"layout 99.*--store"):
        Store(path)


def test_cells_come_back_as_one_flat_table(store):
    store.put(key(), outcome(0.9, 0.8), store.start_run("a command", {"cores": "2"}))
    [row] = store.cells().to_dict("records")
    assert {name: row[name] for name in as_row(key(), outcome(0.9, 0.8))} == as_row(key(), outcome(0.9, 0.8))
    [run] = store.runs().to_dict("records")
    assert (run["run"], run["command"]) == (row["run"], "a command")
