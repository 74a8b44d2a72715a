import io
import json
import subprocess
import sys
import textwrap
import time
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from joblib import parallel
from joblib._parallel_backends import ThreadingBackend

import bench_fakes
from foretree.bench import cell, methods, prepare, run
from foretree.bench.datasets import Source
from foretree.bench.store import Outcome, Store, read_cells

BACKENDS = parallel.BACKENDS


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "toy.csv"
    bench_fakes.table().to_csv(path, index=False)
    return Source("toy", None, path, "class")


@pytest.fixture
def store(tmp_path):
    opened = Store(tmp_path / "cells.sqlite")
    yield opened
    opened.close()


def go(study, store, workers=run.Workers()):  # noqa: B008 - frozen
    return run.run(study, store, workers, io.StringIO())


def study(source, *names, **others):
    return run.Study((source,), names, **{"depths": (2, 3), "folds": (1, 2, 3), **others})


def test_every_cell_is_measured_and_stored(source, store):
    summary = go(study(source, "fake"), store)
    cells = store.cells()
    assert summary.counts == {"ok": 6}
    done = list(zip(cells["fold"], cells["depth"], strict=True))
    assert done == [(fold, depth) for fold in (1, 2, 3) for depth in (2, 3)]
    data = prepare.prepared(source)
    numbers = prepare.fold_numbers(source)
    for row in cells.itertuples():
        train, test = data.labels[numbers != row.fold], data.labels[numbers == row.fold]
        common = np.bincount(train).argmax()
        share = np.mean(train == 1)
        assert row.train_accuracy == np.mean(train == common)
        assert row.test_accuracy == np.mean(test == common)
        assert row.train_balanced == 0.5
        assert row.loss == pytest.approx(2 * share * (1 - share))
        assert (row.n_leaves, row.status, row.reason) == (1, "ok", "")
        assert row.fit_seconds > 0
        assert row.predict_seconds > 0


def test_a_second_run_does_only_what_is_missing(source, store):
    go(study(source, "fake", folds=(1,)), store)
    bench_fakes.FITS.clear()
    summary = go(study(source, "fake", folds=(1, 2)), store)
    assert summary.counts == {"ok": 2}
    assert bench_fakes.FITS.count(("Majority", 3)) == 1
    assert go(study(source, "fake", folds=(1, 2)), store).counts == {}


def test_a_changed_table_is_other_work(source, store):
    go(study(source, "fake"), store)
    bench_fakes.table(seed=1).to_csv(source.table, index=False)
    prepare.prepared.cache_clear()
    prepare.fold_numbers.cache_clear()
    cell._fold.cache_clear()
    assert go(study(source, "fake"), store).counts == {"ok": 6}


def test_parameters_make_their_own_rows(source, store):
    go(study(source, "cart-g", params={"cart-g": {"min_samples_leaf": 20}}), store)
    go(study(source, "cart-g"), store)
    params = read_cells(store.path).groupby("params")["n_leaves"].max()
    assert params[json.dumps({"min_samples_leaf": 20})] < params["{}"]


def test_errors_and_crashes_are_rows_with_their_reason(source, store):
    summary = go(study(source, "fake-broken", "fake-crashing", folds=(1,)), store)
    cells = store.cells()
    assert summary.counts == {"failed": 4}
    reasons = cells.groupby("method")["reason"].unique()
    assert list(reasons["fake-broken"]) == ["RuntimeError: this one never fits"]
    assert list(reasons["fake-crashing"]) == ["its process ended with exit code 7"]
    assert cells["train_accuracy"].isna().all()


def test_a_killed_search_has_no_answer_as_one_that_ran_out_of_time(source, store):
    assert go(study(source, "fake-killed", folds=(1,)), store).counts == {"timeout": 1, "skipped": 1}
    assert store.cells()["reason"].str.contains("killed, most likely for want of memory").any()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="/proc tells who is alive")
def test_a_child_does_not_outlive_its_parent():
    script = textwrap.dedent(
        """
        import multiprocessing, time
        from types import SimpleNamespace
        from foretree.bench.cell import _child

        class Endless:
            needs = None
            def make(self, setting):
                time.sleep(60)

        def begin():
            print(multiprocessing.current_process().pid, flush=True)
            key = SimpleNamespace(depth=2, params="{}")
            _child(None, Endless(), SimpleNamespace(key=key, time_limit=None), None)

        child = multiprocessing.get_context("fork").Process(target=begin)
        child.start()
        child.join()
        """
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    child = int(parent.stdout.readline())
    assert is_alive(child)
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 20
    while is_alive(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    parent.stdout.close()
    assert not is_alive(child)


def is_alive(pid):
    """Tell whether a process runs; one that ended and waits to be collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_running_out_of_time_is_a_row_and_deeper_trees_are_passed_over(source, store, monkeypatch):
    monkeypatch.setattr(cell, "_grace", lambda seconds: seconds)
    summary = go(study(source, "fake-sleepy", depths=(2, 3, 4, 5), folds=(1,), time_limit=0.2), store)
    assert summary.counts == {"ok": 1, "timeout": 1, "skipped": 2}
    rows = store.cells().sort_values("depth")
    assert list(rows["status"]) == ["ok", "timeout", "skipped", "skipped"]
    assert rows["reason"].iloc[1] == "no answer within 0.2 s"
    assert rows["reason"].iloc[2] == "depth 3 had no answer in time"


def test_what_failed_can_be_tried_again(source, store):
    broken = study(source, "fake-broken", "fake", folds=(1,))
    go(broken, store)
    listed, _ = run.jobs(broken)
    assert run.todo(store, listed) == []
    assert [job.key.method for job in run.todo(store, listed, retry=True)] == ["fake-broken"] * 2
    note = "2 cells have no answer from an earlier run (see: foretree bench status); --retry tries again."
    assert go(broken, store).notes == (note,)
    again = run.run(broken, store, run.Workers(), io.StringIO(), retry=True)
    assert (again.counts, again.notes) == ({"failed": 2}, ())


def test_a_retry_that_is_stopped_keeps_what_it_did_not_reach(source, store):
    twice = study(source, "fake-interrupted", depths=(4, 5), folds=(1,))
    four, five = run.jobs(twice)[0]
    for job in (four, five):
        store.put(job.key, Outcome("limit", "unproven", 0.9, 0.9))
    assert run.run(twice, store, run.Workers(), io.StringIO(), retry=True).stopped
    assert store.get(four.key) is None, "it was in flight"
    assert store.get(five.key) == Outcome("limit", "unproven", 0.9, 0.9)


def test_a_method_that_ends_the_process_costs_its_cell_alone(source, store, monkeypatch):
    monkeypatch.setattr(bench_fakes.Majority, "fit", lambda self, X, y: sys.exit("enough"))
    assert go(study(source, "fake", "cart-g", folds=(1,)), store).counts == {"ok": 2, "failed": 2}
    assert set(store.cells()["reason"]) == {"", "SystemExit: enough"}


def test_an_interrupt_leaves_a_store_that_goes_on(source, store):
    interrupted = study(source, "fake-interrupted", depths=(2, 3, 4), folds=(1, 2))
    summary = go(interrupted, store)
    assert summary.stopped
    assert "goes on from there" in summary.notes[0]
    assert list(store.cells()["depth"]) == [2, 3]
    left, _ = run.jobs(interrupted)
    assert len(run.todo(store, left)) == 4


def test_workers_give_the_same_rows(source, store, tmp_path):
    go(study(source, "fake", "cart-g"), store)
    other = Store(tmp_path / "other.sqlite")
    go(study(source, "fake", "cart-g"), other, run.Workers(2, "threading"))
    columns = ["method", "depth", "fold", "train_accuracy", "test_accuracy", "n_leaves", "loss"]
    tables = [
        opened.cells()[columns].sort_values(columns[:3]).to_numpy().tolist() for opened in (store, other)
    ]
    other.close()
    assert tables[0] == tables[1]


class OnlyLists(ThreadingBackend):
    """A backend like Ray's, which hands results back all at once."""

    supports_return_generator = False


def test_ray_is_registered_and_gives_its_cells_round_by_round(source, store, monkeypatch):
    def register_ray():
        monkeypatch.setitem(BACKENDS, "ray", OnlyLists)

    monkeypatch.setitem(sys.modules, "ray.util.joblib", SimpleNamespace(register_ray=register_ray))
    stored = []
    put = Store.put
    monkeypatch.setattr(bench_fakes.Majority, "predict", lambda self, X: stored.append("did") or X[:, 0])
    monkeypatch.setattr(Store, "put", lambda self, *rest: stored.append("stored") or put(self, *rest))
    summary = go(study(source, "fake"), store, run.Workers(2, "ray"))
    assert summary.counts == {"ok": 6}
    first = stored.index("stored")
    assert "did" in stored[first:], "a round is stored before the next one begins"


def test_dask_gets_a_client_with_workers_that_may_have_children(source, store, monkeypatch):
    given = []

    def no_client():
        raise ValueError("No clients found")

    settings = {}
    config = SimpleNamespace(get=lambda _name, default: default, set=settings.update)
    distributed = SimpleNamespace(
        default_client=no_client, Client=lambda **options: given.append(options) or nullcontext()
    )
    monkeypatch.setitem(sys.modules, "distributed", distributed)
    monkeypatch.setitem(sys.modules, "dask", SimpleNamespace(config=config))
    monkeypatch.setitem(BACKENDS, "dask", ThreadingBackend)
    assert go(study(source, "fake"), store, run.Workers(2, "dask")).counts == {"ok": 6}
    assert (given[0]["n_workers"], given[0]["threads_per_worker"]) == (2, 1)
    assert settings == {"distributed.worker.daemon": False}
    config.get = lambda _name, _default: "tcp://elsewhere:8786"
    go(study(source, "fake", depths=(4,)), store, run.Workers(2, "dask"))
    assert given[1:] == [{}], "a scheduler that is named is used"
    distributed.default_client = nullcontext
    go(study(source, "fake", depths=(5,)), store, run.Workers(2, "dask"))
    assert len(given) == 2, "a client that is there is used"


@pytest.mark.parametrize(("backend", "module"), [("dask", "distributed"), ("ray", "ray.util.joblib")])
def test_an_absent_backend_is_named_with_the_remedy(source, store, monkeypatch, backend, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ModuleNotFoundError, match=rf"--backend {backend} needs .*: pip install"):
        go(study(source, "fake"), store, run.Workers(2, backend))


def test_cells_of_another_living_process_are_left_to_it(source, store):
    listed, _ = run.jobs(study(source, "fake"))
    other = Store(store.path)
    assert other.claim(listed[0].key)
    summary = go(study(source, "fake"), store)
    assert summary.counts == {"ok": 5}
    assert summary.held_elsewhere == 1
    other.close()


def test_what_cannot_run_is_named_with_the_remedy(source, store):
    nowhere = Source("nowhere")
    both = run.Study((source, nowhere), ("fake", "fake-absent"), (2,), (1,))
    summary = go(both, store)
    assert summary.counts == {"ok": 1}
    absent, missing = summary.notes
    assert absent == "fake-absent is skipped: no_such_module is not installed; pip install no-such-package"
    assert missing.startswith("nowhere is skipped: No dataset is called 'nowhere'. Known: adult")


def test_memory_is_the_growth_during_fit(source, store):
    if cell._Memory().peak_growth() is None:
        pytest.skip("this system does not tell a process its peak memory")
    go(study(source, "fake-hungry", depths=(2,), folds=(1,)), store)
    assert 25e6 < store.cells()["peak_bytes"].iloc[0] < 60e6


def test_code_of_longer_looks_is_loaded_before_the_clock_starts(source, store, monkeypatch):
    monkeypatch.setattr(cell, "_warm", set())
    asked = []
    fit = bench_fakes.Majority.fit
    monkeypatch.setattr(
        bench_fakes.Majority,
        "fit",
        lambda self, X, y: asked.append((self.setting.depth, X.shape[1])) or fit(self, X, y),
    )
    go(study(source, "fake", depths=(2, 3, 4, 6), folds=(1,)), store)
    wide = prepare.prepared(source).bits.shape[1]
    assert asked == [
        *[(2, wide), (2, wide)],
        *[(2, wide), (3, 8), (3, wide)],
        *[(2, wide), (4, 8), (4, wide)],
        (6, wide),
    ]


def test_progress_ends_at_all_cells(source, store):
    out = io.StringIO()
    run.run(study(source, "fake"), store, run.Workers(), out)
    assert out.getvalue().splitlines()[-1].startswith("6/6 cells (100%), about 0:00 left: toy, fake, depth 3")


def test_a_terminal_shows_a_bar_and_guesses_no_time_from_the_first_cells(source, store):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    out = Terminal()
    run.run(study(source, "fake", folds=(1,), depths=(2, 3)), store, run.Workers(), out)
    lines = out.getvalue().split("\r\033[K")[1:]
    assert lines[0].startswith("[##########          ] 1/2 cells (50%), about ? left: toy, fake, depth 2")
    assert lines[-1].startswith("[####################] 2/2 cells (100%), about 0:00 left")


def test_the_machine_is_described():
    machine = run.machine()
    assert {"processor", "cores", "memory", "python", "foretree", "numpy", "scikit-learn"} <= set(machine)


def test_a_method_is_registered_once():
    with pytest.raises(ValueError, match="'fake' is registered already"):
        methods.register(methods.METHODS["fake"])


def test_an_unknown_method_is_named_with_the_known_ones():
    with pytest.raises(LookupError, match=r"'carrt'.*cart-g"):
        methods.find("carrt")


def test_code_versions_name_what_runs():
    import sklearn

    assert methods.METHODS["cart-g"].code_version() == f"scikit-learn {sklearn.__version__}"
    assert methods.METHODS["rst-g"].code_version().startswith("foretree 0")
    assert methods.METHODS["rst-g"].code_version() != methods.METHODS["oct-2"].code_version()


def test_a_plugin_that_changed_is_other_work(source, store, tmp_path, monkeypatch):
    path = tmp_path / "plugged.py"
    text = (
        "from foretree.bench.methods import METHODS, Method, register\n"
        "from bench_fakes import Majority\n"
        "def make(setting): return Majority(setting)\n"
        "METHODS.pop('plugged', None)\n"
        "register(Method('plugged', 'Plugged', make, needs='sklearn', package='scikit-learn'))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    path.write_text(text)
    plugged = study(source, "plugged", depths=(2,), folds=(1,), plugins=("plugged",))
    assert go(plugged, store).counts == {"ok": 1}
    assert go(plugged, store).counts == {}
    path.write_text(text + "# another state\n")
    assert go(plugged, store).counts == {"ok": 1}
    assert store.cells()["code_version"].str.contains(r"^scikit-learn \S+, plugged\.py\+\w{8}$").all()
    methods.METHODS.pop("plugged")
