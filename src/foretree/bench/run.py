"""Do the cells that the store lacks: over joblib workers, with a progress line, safe to stop."""

from __future__ import annotations

import json
import os
import platform
import shlex
import sys
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from importlib import import_module, metadata
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from foretree.bench import cell, facts, methods, prepare
from foretree.bench.datasets import DatasetMissingError, Source
from foretree.bench.store import CLAIM_SECONDS, STATUSES, UNFINISHED, Key, Outcome, Store


@dataclass(frozen=True)
class Study:
    """Which cells to do: every dataset × fold × depth × method, and with what limits."""

    sources: tuple[Source, ...]
    methods: tuple[str, ...]
    depths: tuple[int, ...] = facts.DEPTHS
    folds: tuple[int, ...] = tuple(range(1, facts.N_FOLDS + 1))
    params: dict[str, dict[str, Any]] = field(default_factory=dict)
    time_limit: float | None = None
    plugins: tuple[str, ...] = ()


@dataclass(frozen=True)
class Workers:
    """How many cells at a time and by which joblib backend."""

    n_jobs: int = 1
    backend: str | None = None


@dataclass(frozen=True)
class Summary:
    """What a run did of its `n_cells`: by status, what was left to other processes, and sentences to read."""

    counts: dict[str, int]
    held_elsewhere: int
    notes: tuple[str, ...]
    stopped: bool = False
    n_cells: int = 0


def jobs(study: Study) -> tuple[list[cell.Job], list[str]]:
    """Return the study's cells, costly datasets first and shallow trees before deep ones, and notes."""
    chosen, notes = _runnable(study)
    listed: list[cell.Job] = []
    for source in study.sources:
        try:
            data = prepare.prepared(source)
        except (DatasetMissingError, ValueError) as error:
            notes.append(f"{source.name} is skipped: {error}")
            continue
        listed += _dataset_jobs(study, chosen, source, data)
    return sorted(listed, key=_order), notes


def _order(job: cell.Job) -> tuple[int, bool, int, int, str]:
    # Fold by fold, whose rows a worker keeps; where answers may fail, all shallow trees before deeper ones.
    key, isolated = job.key, methods.find(job.key.method).isolated
    first, second = (key.depth, key.fold) if isolated else (key.fold, key.depth)
    return -job.n_values, isolated, first, second, key.method


def _runnable(study: Study) -> tuple[list[methods.Method], list[str]]:
    methods.load_plugins(study.plugins)
    found = [methods.find(name) for name in study.methods]
    reasons = {method.name: method.why_missing() for method in found}
    notes = [reason for reason in reasons.values() if reason]
    return [method for method in found if not reasons[method.name]], notes


def _dataset_jobs(
    study: Study, chosen: list[methods.Method], source: Source, data: prepare.Prepared
) -> Iterator[cell.Job]:
    for method in chosen:
        params = json.dumps(study.params.get(method.name, {}), sort_keys=True)
        version = method.code_version()
        for depth in method.depths or study.depths:
            for fold in study.folds:
                key = Key(source.name, data.fingerprint, fold, depth, method.name, params, version)
                yield cell.Job(key, source, data.bits.size, study.time_limit, study.plugins)


def todo(store: Store, listed: Sequence[cell.Job], *, retry: bool = False) -> list[cell.Job]:
    """Return the jobs without a row; with `retry`, those that failed or ran out of time count as undone."""
    done = store.keys(set(STATUSES) - set(UNFINISHED)) if retry else store.keys()
    return [job for job in listed if job.key not in done]


def run(
    study: Study, store: Store, workers: Workers, out: TextIO | None = None, *, retry: bool = False
) -> Summary:
    """Do every missing cell and store it the moment it is measured; with `retry`, unfinished ones too."""
    listed, notes = jobs(study)
    left = todo(store, listed, retry=retry)
    if not retry:
        notes += _earlier_failures(store, listed)
    number = store.start_run(shlex.join(["foretree", *sys.argv[1:]]), machine())
    progress = _Progress(out or sys.stderr, left, n_done=len(listed) - len(left))
    stopped = False
    with _Heartbeat(store):
        results = _results(_mine(store, left, progress, number, time.time() if retry else None), workers)
        try:
            for key, outcome in results:
                store.put(key, outcome, number)
                progress.step(key, outcome)
        except KeyboardInterrupt:
            stopped = True
            notes.append("Stopped. What was measured is stored; the same command goes on from there.")
        finally:
            progress.close()
            results.close()
    held = 0 if stopped else len(todo(store, left))
    return Summary(progress.counts, held, tuple(notes), stopped, len(listed))


def _earlier_failures(store: Store, listed: Sequence[cell.Job]) -> list[str]:
    found = len({job.key for job in listed} & store.keys(("failed", "timeout", "skipped")))
    if not found:
        return []
    return [
        f"{found} cells have no answer from an earlier run (see: foretree bench status); --retry tries again."
    ]


def _mine(
    store: Store, left: Sequence[cell.Job], progress: _Progress, number: int, retry_before: float | None
) -> Iterator[cell.Job]:
    """Yield the jobs no other process has, passing over depths below an unanswered one (Section 5.1)."""
    for job in left:
        if not store.claim(job.key, retry_before):
            continue
        shallower = store.unanswered_depth(job.key)
        if shallower is None:
            yield job
            continue
        skipped = Outcome("skipped", f"depth {shallower} had no answer in time")
        store.put(job.key, skipped, number)
        progress.step(job.key, skipped)


def _results(mine: Iterator[cell.Job], workers: Workers) -> Generator[tuple[Key, Outcome], None, None]:
    from joblib import Parallel, delayed, parallel_config
    from joblib.parallel import get_active_backend

    if workers.n_jobs == 1 and workers.backend is None:
        yield from (cell.run(job) for job in mine)
        return
    options: dict[str, Any] = {} if workers.backend not in (None, "loky") else {"inner_max_num_threads": 1}
    with (
        _cluster(workers),
        parallel_config(backend=workers.backend or "loky", n_jobs=workers.n_jobs, **options),
    ):
        if not get_active_backend()[0].supports_return_generator:
            yield from _rounds(mine, workers.n_jobs)
            return
        # One job a batch: a kill costs the cells in flight and no more.
        pool = Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch="2*n_jobs")
        yield from pool(delayed(cell.run)(job) for job in mine)


def _rounds(mine: Iterator[cell.Job], n_jobs: int) -> Generator[tuple[Key, Outcome], None, None]:
    """Yield results of backends that only give lists (Ray, multiprocessing), as many at a time as workers."""
    from joblib import Parallel, delayed, effective_n_jobs

    size = effective_n_jobs(n_jobs)
    with Parallel(batch_size=1) as pool:
        while round_ := list(islice(mine, size)):
            yield from pool(delayed(cell.run)(job) for job in round_)


def _cluster(workers: Workers) -> Any:
    """Return what must be open while joblib works over Dask or Ray; nothing for its own backends."""
    if workers.backend == "ray":
        try:
            register = import_module("ray.util.joblib")
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError("--backend ray needs Ray: pip install 'ray'") from error
        register.register_ray()
        return nullcontext()
    if workers.backend != "dask":
        return nullcontext()
    try:
        distributed: Any = import_module("distributed")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("--backend dask needs Dask: pip install 'distributed'") from error
    try:
        return nullcontext(distributed.default_client())
    except ValueError:
        return _dask_client(distributed, workers)


def _dask_client(distributed: Any, workers: Workers) -> Any:
    """Return a client of the scheduler that Dask's settings name, else of workers on this machine."""
    config: Any = import_module("dask").config
    if config.get("scheduler-address", None) is not None:
        return distributed.Client()
    # Workers that are daemons may not start the processes in which isolated methods run.
    config.set({"distributed.worker.daemon": False})
    count = None if workers.n_jobs < 0 else workers.n_jobs
    return distributed.Client(n_workers=count, threads_per_worker=1, dashboard_address=None)


class _Heartbeat:
    """Keeps this process's claims alive while it works."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def _beat(self) -> None:
        while not self._stop.wait(CLAIM_SECONDS / 4):
            self._store.heartbeat()

    def __enter__(self) -> None:
        self._store.heartbeat()
        self._thread.start()

    def __exit__(self, *_rest: object) -> None:
        self._stop.set()
        self._thread.join()


_BAR = 20
_FIRST = 3


class _Progress:
    """One line with a bar on a terminal, a line every ten seconds elsewhere; the time left follows rows and depth."""

    def __init__(self, out: TextIO, left: Sequence[cell.Job], n_done: int) -> None:
        self._out = out
        self._total = len(left) + n_done
        self._done = n_done
        self._weights = {job.key: _weight(job) for job in left}
        self._left = {job.key for job in left}
        self._start = time.monotonic()
        self._shown = 0.0
        self.counts: dict[str, int] = {}

    def step(self, key: Key, outcome: Outcome) -> None:
        self._done += 1
        self._left.discard(key)
        self.counts[outcome.status] = self.counts.get(outcome.status, 0) + 1
        now = time.monotonic()
        live = self._out.isatty()
        if now - self._shown < (0.2 if live else 10.0) and self._left:
            return
        self._shown = now
        share = self._done / max(1, self._total)
        line = f"{self._done}/{self._total} cells ({share:.0%}), about {self._eta(now)} left: {_named(key)}"
        bar = "#" * round(share * _BAR)
        self._out.write(f"\r\033[K[{bar:<{_BAR}}] {line}" if live else f"{line}\n")
        self._out.flush()

    def _eta(self, now: float) -> str:
        finished = len(self._weights) - len(self._left)
        spent = sum(weight for key, weight in self._weights.items() if key not in self._left)
        # The first cells of a process wait for imports and compiled code.
        if not spent or (finished < _FIRST and self._left):
            return "?"
        ahead = sum(self._weights[key] for key in self._left)
        seconds = round((now - self._start) * ahead / spent)
        return f"{seconds // 60}:{seconds % 60:02d}"

    def close(self) -> None:
        if self._out.isatty():
            self._out.write("\n")


def _weight(job: cell.Job) -> float:
    # Prepared already, by `jobs`; small datasets cost mostly what any cell costs.
    return (job.key.depth + 1) * (job.n_values + 50_000.0)


def _named(key: Key) -> str:
    return f"{key.dataset}, {key.method}, depth {key.depth}, fold {key.fold}"


_PACKAGES = ("numpy", "numba", "scikit-learn", "scipy", "pandas", "joblib")


def machine() -> dict[str, str]:
    """Return what the report says of the machine: processor, cores, memory, system, versions."""
    import foretree

    versions = {name: metadata.version(name) for name in _PACKAGES}
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": _memory(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "foretree": foretree.__version__,
        **versions,
    }


def _first_value(path: str, name: str) -> str | None:
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return None
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(name)), None)


def _processor() -> str:
    return _first_value("/proc/cpuinfo", "model name") or platform.processor() or platform.machine()


def _memory() -> str:
    total = _first_value("/proc/meminfo", "MemTotal")
    return "unknown" if total is None else f"{int(total.split()[0]) / 2**20:.0f} GiB"
