"""Fake methods and a fake table for the study's tests; registered once, as a user's plugin would be."""

import os
import signal
import time

import numpy as np
import pandas as pd

from foretree.bench.methods import METHODS, Method, Setting, register
from foretree.bench.store import Key, Outcome

FITS: list[tuple[str, int]] = []


class Majority:
    """Predicts the commonest class of training."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting

    def fit(self, X, y):
        FITS.append((type(self).__name__, self.setting.depth))
        self.value = np.bincount(y).argmax()
        return self

    def predict(self, X):
        return np.full(len(X), self.value)

    def get_n_leaves(self):
        return 1

    def apply(self, X):
        return np.zeros(len(X), dtype=int)


class Broken(Majority):
    def fit(self, X, y):
        raise RuntimeError("this one never fits")


class Crashing(Majority):
    def fit(self, X, y):
        os._exit(7)


class Killed(Majority):
    def fit(self, X, y):
        os.kill(os.getpid(), signal.SIGKILL)


class Sleepy(Majority):
    def fit(self, X, y):
        if self.setting.depth >= 3:
            time.sleep(60)
        return super().fit(X, y)


class Interrupted(Majority):
    def fit(self, X, y):
        if self.setting.depth == 4 and len(X) > 50:
            raise KeyboardInterrupt
        return super().fit(X, y)


class Hungry(Majority):
    def fit(self, X, y):
        self.eaten = np.ones(30_000_000 // 8).sum()
        return super().fit(X, y)


if "fake" not in METHODS:
    here = {"needs": "bench_fakes", "package": "nothing"}
    register(Method("fake", "Fake", Majority, loss="gini", **here))
    register(Method("fake-broken", "Broken", Broken, **here))
    register(Method("fake-crashing", "Crashing", Crashing, isolated=True, **here))
    register(Method("fake-killed", "Killed", Killed, isolated=True, **here))
    register(Method("fake-sleepy", "Sleepy", Sleepy, isolated=True, **here))
    register(Method("fake-interrupted", "Interrupted", Interrupted, **here))
    register(Method("fake-hungry", "Hungry", Hungry, **here))
    register(Method("fake-absent", "Absent", Majority, needs="no_such_module", package="no-such-package"))


def table(n_rows: int = 60, seed: int = 0) -> pd.DataFrame:
    """Return a table with a numeric, a two-valued and a five-valued column, and a target of two classes."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n_rows)
    return pd.DataFrame(
        {
            "age": age,
            "sex": rng.choice(["f", "m"], n_rows),
            "job": rng.choice(list("abcde"), n_rows),
            "class": np.where(age + rng.normal(0, 8, n_rows) > 45, "yes", "no"),
        }
    )


def key(fold: int = 1, depth: int = 2, method: str = "fake", dataset: str = "toy") -> Key:
    return Key(dataset, "v1", fold, depth, method, "{}", "code 1")


def outcome(train: float, test: float, seconds: float = 0.01, leaves: int = 4) -> Outcome:
    return Outcome("ok", "", train, test, train, test, leaves, 1 - train, seconds, 0.001, 1000)


def study_table(
    gains: dict[str, float], n_datasets: int = 12, depths: tuple[int, ...] = (2, 3)
) -> pd.DataFrame:
    """Return answers (dataset, depth, fold, title, train, test, leaves, seconds) with fixed gains a title."""
    rng = np.random.default_rng(1)
    rows = []
    for dataset in range(n_datasets):
        for depth in depths:
            for fold in (1, 2):
                base = 0.5 + 0.2 * rng.random()
                for title, gain in gains.items():
                    rows.append(
                        {
                            "dataset": f"set {dataset:02d}",
                            "depth": depth,
                            "fold": fold,
                            "title": title,
                            "train": base + gain + 0.05,
                            "test": base + gain,
                            "leaves": 2.0**depth,
                            "seconds": 0.01 * depth,
                        }
                    )
    return pd.DataFrame(rows)
