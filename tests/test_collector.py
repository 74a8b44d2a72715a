import gc
import subprocess
import sys

import pytest

from foretree._collector import paused, set_aside


@pytest.fixture(autouse=True)
def as_before():
    callbacks, was_on = list(gc.callbacks), gc.isenabled()
    gc.unfreeze()
    yield
    gc.callbacks[:] = callbacks
    gc.unfreeze()
    gc.enable() if was_on else gc.disable()


def test_nothing_is_collected_while_paused_and_all_is_as_before_after():
    with paused():
        assert not gc.isenabled()
    assert gc.isenabled()
    gc.disable()
    with paused():
        pass
    assert not gc.isenabled()


def test_an_error_ends_the_pause():
    with pytest.raises(ImportError), paused():
        raise ImportError
    assert gc.isenabled()


class Ring:
    """Something only the collector can free."""

    freed = 0

    def __init__(self):
        self.me = self

    def __del__(self):
        Ring.freed += 1


def test_garbage_set_aside_is_freed_by_the_next_full_collection():
    ring, before = Ring(), Ring.freed
    set_aside()
    del ring
    gc.collect(1)
    assert gc.get_freeze_count() > 0
    assert Ring.freed == before
    gc.collect()
    assert gc.get_freeze_count() == 0
    assert Ring.freed == before + 1


def test_only_once_is_anything_given_back():
    set_aside()
    gc.collect()
    gc.freeze()
    gc.collect()
    assert gc.get_freeze_count() > 0


def test_what_a_program_sets_aside_itself_stays_there():
    gc.freeze()
    frozen, callbacks = gc.get_freeze_count(), list(gc.callbacks)
    set_aside()
    assert gc.callbacks == callbacks
    assert gc.get_freeze_count() <= frozen
    gc.unfreeze()
    set_aside()
    more = [[] for _ in range(1000)]
    gc.freeze()
    gc.collect()
    assert gc.get_freeze_count() > len(more)


def test_a_program_without_a_collector_is_left_alone():
    gc.disable()
    set_aside()
    assert gc.get_freeze_count() == 0


def test_loading_leaves_the_collector_on_and_libraries_aside():
    code = "import gc, foretree; foretree.SplitEncoder; print(gc.isenabled(), gc.get_freeze_count() > 10_000)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.split() == ["True", "True"]
