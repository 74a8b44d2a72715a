"""One cell of the study: fit on nine folds, predict the tenth, measure. Only `fit` is timed."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from foretree.bench import facts, methods, prepare
from foretree.bench.datasets import Source
from foretree.bench.store import Key, Outcome

Labels = npt.NDArray[np.int64]
_WARM_UP_ROWS = 256
_WARM_UP_DEPTH = 4
_PROVEN = 1e-9
# Seconds after which a child looks whether its parent is still there.
_WATCH = 0.5


@dataclass(frozen=True)
class Job:
    """A cell with what a worker needs to do it; `n_values`, rows × splits, measures its cost."""

    key: Key
    source: Source
    n_values: int = 0
    time_limit: float | None = None
    plugins: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Fold:
    train: npt.NDArray[np.uint8]
    train_labels: Labels
    test: npt.NDArray[np.uint8]
    test_labels: Labels


def run(job: Job) -> tuple[Key, Outcome]:
    """Do one cell with one thread; an error becomes an outcome with its reason."""
    methods.load_plugins(job.plugins)
    method = methods.find(job.key.method)
    missing = method.why_missing()
    if missing is not None:
        return job.key, Outcome("failed", missing)
    work = _in_child if method.isolated else _measure
    try:
        fold = _fold(job.source, job.key.fold)
        if not method.isolated:
            _warm_up(method, job, fold)
        return job.key, work(method, job, fold)
    except (Exception, SystemExit) as error:
        return job.key, _failure(error)


def _failure(error: BaseException) -> Outcome:
    return Outcome("failed", f"{type(error).__name__}: {error}".removesuffix(": ")[:500])


@lru_cache(maxsize=1)
def _fold(source: Source, number: int) -> _Fold:
    data = prepare.prepared(source)
    is_test = prepare.fold_numbers(source) == number
    return _Fold(data.bits[~is_test], data.labels[~is_test], data.bits[is_test], data.labels[is_test])


def _setting(job: Job) -> methods.Setting:
    return methods.Setting(job.key.depth, job.time_limit, json.loads(job.key.params))


_warm: set[tuple[str, int, int]] = set()


def _warm_up(method: methods.Method, job: Job, fold: _Fold) -> None:
    # The first fit of a process pays for imports and compiled code, which is no method's own time.
    n_classes = len(np.unique(fold.train_labels))
    depth = min(job.key.depth, _WARM_UP_DEPTH)
    if (method.name, n_classes, depth) in _warm:
        return
    _warm.add((method.name, n_classes, depth))
    rows = np.unique(np.linspace(0, len(fold.train) - 1, _WARM_UP_ROWS).astype(int))
    _untimed(method, replace(_setting(job), depth=min(depth, 2)), fold.train[rows], fold.train_labels[rows])
    if depth > 2:
        # Longer looks have code of their own. A narrow table of noise asks for it in no time.
        rng = np.random.default_rng(0)
        noise = rng.integers(0, 2, (_WARM_UP_ROWS, 8), dtype=np.uint8)
        labels = np.arange(_WARM_UP_ROWS) % n_classes
        _untimed(method, replace(_setting(job), depth=depth), noise, labels)


def _untimed(
    method: methods.Method, setting: methods.Setting, train: npt.NDArray[np.uint8], labels: Labels
) -> None:
    try:
        with _one_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            method.make(replace(setting, time_limit=5.0)).fit(train, labels).predict(train[:2])
    except Exception:  # The measured fit meets the same error and reports it.
        return


def _measure(method: methods.Method, job: Job, fold: _Fold) -> Outcome:
    with _one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = method.make(_setting(job))
        memory = _Memory()
        start = time.perf_counter()
        model.fit(fold.train, fold.train_labels)
        fit_seconds = time.perf_counter() - start
        peak_bytes = memory.peak_growth()
        start = time.perf_counter()
        predicted = np.asarray(model.predict(fold.test))
        predict_seconds = time.perf_counter() - start
        fitted = np.asarray(model.predict(fold.train))
    unproven = _is_unproven(model)
    n_leaves = _n_leaves(model, fold.train)
    if unproven and n_leaves == 1:
        # The solvers' last resort is a single leaf, which the paper counts as no solution.
        return Outcome("timeout", "no tree but a single leaf within the time limit", fit_seconds=fit_seconds)
    return Outcome(
        "limit" if unproven else "ok",
        f"the time limit{_seconds(job.time_limit)} came before the proof of optimality" if unproven else "",
        train_accuracy=_accuracy(fold.train_labels, fitted),
        test_accuracy=_accuracy(fold.test_labels, predicted),
        train_balanced=_balanced(fold.train_labels, fitted),
        test_balanced=_balanced(fold.test_labels, predicted),
        n_leaves=n_leaves,
        loss=_loss(_minimised(method, job.key.depth), model, fold, fitted),
        fit_seconds=fit_seconds,
        predict_seconds=predict_seconds,
        peak_bytes=peak_bytes,
    )


def _seconds(limit: float | None) -> str:
    return "" if limit is None else f" of {limit:g} s"


def _one_thread() -> Any:
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1)


def _accuracy(labels: Labels, predicted: npt.NDArray[Any]) -> float:
    return float(np.mean(labels == predicted))


def _balanced(labels: Labels, predicted: npt.NDArray[Any]) -> float:
    right = labels == predicted
    return float(np.mean([right[labels == code].mean() for code in np.unique(labels)]))


def _is_unproven(model: Any) -> bool:
    gap = max(getattr(model, "optimality_gap_", 0.0), getattr(model, "gap_", 0.0))
    return gap > _PROVEN or str(getattr(model, "status_", "")).replace("_", " ").startswith("time limit")


def _n_leaves(model: Any, train: npt.NDArray[np.uint8]) -> int | None:
    for name in ("get_n_leaves", "n_leaves_", "n_leaves"):
        value = getattr(model, name, None)
        if value is not None:
            return int(value() if callable(value) else value)
    if hasattr(model, "leaf_paths"):
        return len(model.leaf_paths())
    return len(np.unique(model.apply(train))) if hasattr(model, "apply") else None


def _minimised(method: methods.Method, depth: int) -> str:
    if method.loss != "hybrid":
        return method.loss
    return "misclassification" if depth <= facts.SWITCH_DEPTH else "gini"


def _loss(loss: str, model: Any, fold: _Fold, fitted: npt.NDArray[Any]) -> float | None:
    if loss == "misclassification":
        return float(np.mean(fold.train_labels != fitted))
    if loss == "gini" and hasattr(model, "apply"):
        return _gini(np.asarray(model.apply(fold.train)), fold.train_labels)
    return None


def _gini(leaves: npt.NDArray[Any], labels: Labels) -> float:
    numbers = np.unique(leaves, return_inverse=True)[1]
    counts = np.zeros((numbers.max() + 1, labels.max() + 1))
    np.add.at(counts, (numbers, labels), 1)
    sizes = counts.sum(axis=1)
    return float((sizes - (counts**2).sum(axis=1) / sizes).sum() / len(labels))


class _Memory:
    """How far resident memory rises above its level now; Linux only, None elsewhere."""

    def __init__(self) -> None:
        self._before: int | None = None
        try:
            Path("/proc/self/clear_refs").write_text("5")  # resets the high-water mark
            self._before = self._status("VmRSS")
        except (OSError, KeyError):
            return

    @staticmethod
    def _status(name: str) -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        values = dict(line.split(":", 1) for line in lines)
        return int(values[name].split()[0]) * 1024

    def peak_growth(self) -> int | None:
        return None if self._before is None else max(0, self._status("VmHWM") - self._before)


def _send(connection: Connection, work: Callable[[], Outcome]) -> None:
    try:
        outcome = work()
    except (Exception, SystemExit) as error:
        outcome = _failure(error)
    connection.send(outcome)
    connection.close()


def _grace(time_limit: float) -> float:
    # A solver that keeps its own limit needs a moment to hand back the best tree so far.
    return 1.2 * time_limit + 5.0


def _in_child(method: methods.Method, job: Job, fold: _Fold) -> Outcome:
    """Measure in a process of its own, so that a crash or an endless search costs one cell."""
    starts = multiprocessing.get_all_start_methods()
    context: Any = multiprocessing.get_context("fork" if "fork" in starts else "spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(sender, method, job, fold))
    with warnings.catch_warnings():
        # Newer Pythons warn of threads at a fork; the child only fits and leaves.
        warnings.simplefilter("ignore", DeprecationWarning)
        child.start()
    sender.close()
    try:
        if not receiver.poll(None if job.time_limit is None else _grace(job.time_limit)):
            return Outcome("timeout", f"no answer within {job.time_limit:g} s")
        outcome: Outcome = receiver.recv()
    except EOFError:
        child.join()
        if child.exitcode == -signal.SIGKILL:
            # A search that outgrew the machine has no answer, as one that ran out of time has none.
            return Outcome("timeout", "its process was killed, most likely for want of memory")
        return Outcome("failed", f"its process ended with exit code {child.exitcode}")
    finally:
        child.kill()
        child.join()
        receiver.close()
    return outcome


def _leave_after(parent: int | None) -> None:
    """End this process soon after its parent, which may have been killed and then stops nothing."""
    while os.getppid() == parent:
        time.sleep(_WATCH)
    os._exit(1)


def _child(connection: Connection, method: methods.Method, job: Job, fold: _Fold) -> None:
    # Ctrl-C reaches the whole group of processes; the parent stops this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_leave_after, args=(parent.pid,), daemon=True).start()
    # Here, not before the fork: threads that a warm-up started would be missing in the child.
    if method.needs == "foretree":
        _warm_up(method, job, fold)
    _send(connection, lambda: _measure(method, job, fold))
