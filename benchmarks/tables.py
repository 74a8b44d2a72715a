"""The paper's 19 tables as 0/1 matrices, and how benchmarks time, print and keep."""

import json
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results"


def data_folder() -> Path:
    """Return the folder of the tables: FORETREE_DATA, or ../shared/data beside the repository."""
    folder = Path(os.environ.get("FORETREE_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        sys.exit(
            f"The paper's tables are not at {folder}; set FORETREE_DATA to the folder that holds adult.csv."
        )
    return folder


def load_all(dtype: Any = np.float32) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Return (name, 0/1 matrix, class numbers) of every table, binarised as in the paper."""
    from foretree.bench import facts
    from foretree.bench.datasets import Source
    from foretree.bench.prepare import prepared

    tables = []
    for name in facts.datasets():
        ready = prepared(Source(name, data_folder()))
        tables.append((name, np.ascontiguousarray(ready.bits, dtype), ready.labels))
    return tables


def best_of(call: Callable[[], Any], seconds: float = 0.25, most: int = 200) -> float:
    """Return the least seconds of a call, repeated for a while but at least three times."""
    least, spent, times = float("inf"), 0.0, 0
    while times < 3 or (spent < seconds and times < most):
        began = time.perf_counter()
        call()
        took = time.perf_counter() - began
        least, spent, times = min(least, took), spent + took, times + 1
    return least


def geometric_mean(values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def machine() -> dict[str, str]:
    """Return what ran: processor, Python and the versions of the libraries compared."""
    found = {"processor": platform.processor() or platform.machine(), "python": platform.python_version()}
    for name in ("foretree", "numpy", "numba", "scikit-learn", "pytrees-rs", "pystreed", "lightgbm"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def keep(name: str, rows: list[dict[str, Any]], **more: Any) -> Path:
    """Write a benchmark's rows and the machine to results/NAME.json."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps({"machine": machine(), **more, "rows": rows}, indent=1) + "\n")
    return path
