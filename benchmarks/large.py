"""Fit time and peak memory at a million rows × 135 splits: ours, scikit-learn's tree and LightGBM's single tree.

    python benchmarks/large.py [--rows 1000000] [--depth 8] [--lookahead 2 1 3] [--n-jobs 1 2]

Every fit has a process of its own: it loads its libraries and kernels, fits a small table, reads its matrix, and
only then counts. "extra" is the peak of the resident memory over what was resident just before the fit, so the
matrix itself is not in it. The kernels are compiled beforehand. One thread unless n_jobs says otherwise.
"""

import argparse
import ctypes
import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import numpy as np

from tables import best_of, keep

# Ten quantile bins of each of six numbers, then eight columns of categories, one with two of them: as in Adult.
BLOCKS = (10,) * 6 + (9, 16, 7, 15, 6, 5, 1, 16)
N_SPLITS = sum(BLOCKS)
CHUNK = 50_000


def write_table(folder: Path, n_rows: int) -> None:
    """Write a one-hot 0/1 matrix (n_rows, 135) and its classes (n_rows,) as raw bytes.

    A row's log odds add an effect of every category and of every pair of categories in four pairs of columns;
    the label is then drawn, so that no tree reaches 100%.
    """
    rng = np.random.default_rng(0)
    sizes = [max(size, 2) for size in BLOCKS]
    shares = [np.ones(n) if n == 10 else 1 / np.arange(1, n + 1) for n in sizes]
    alone = [rng.normal(0, 0.5, n) for n in sizes]
    together = {(j, k): rng.normal(0, 1.0, (sizes[j], sizes[k])) for j, k in ((0, 6), (1, 9), (2, 3), (7, 8))}
    with (folder / "bits").open("wb") as bits, (folder / "labels").open("wb") as labels:
        for first in range(0, n_rows, CHUNK):
            count = min(CHUNK, n_rows - first)
            drawn = [
                rng.choice(n, count, p=share / share.sum()) for n, share in zip(sizes, shares, strict=True)
            ]
            odds = sum(effect[codes] for effect, codes in zip(alone, drawn, strict=True))
            odds = odds + sum(effect[drawn[j], drawn[k]] for (j, k), effect in together.items())
            hot = [
                codes[:, None] == np.arange(size) for codes, size in zip(drawn, BLOCKS, strict=True)
            ]  # two categories make one column
            np.hstack(hot).astype(np.uint8).tofile(bits)
            (rng.random(count) < 1 / (1 + np.exp(-1.5 * odds))).astype(np.int64).tofile(labels)


def read_table(folder: Path, dtype) -> tuple[np.ndarray, np.ndarray]:
    """Return the matrix in a dtype, without ever holding it twice, and the classes."""
    labels = np.fromfile(folder / "labels", np.int64)
    bits = np.empty((labels.size, N_SPLITS), dtype)
    with (folder / "bits").open("rb") as file:
        for first in range(0, labels.size, CHUNK):
            part = np.fromfile(file, np.uint8, CHUNK * N_SPLITS).reshape(-1, N_SPLITS)
            bits[first : first + len(part)] = part
    return bits, labels


class LightTree:
    """One LightGBM tree, from the matrix to the tree."""

    def __init__(self, max_depth: int) -> None:
        self.parameters = {
            "objective": "binary", "num_threads": 1, "verbosity": -1, "max_depth": max_depth,
            "num_leaves": 2**max_depth, "min_data_in_leaf": 1, "learning_rate": 1.0,
        }  # fmt: skip

    def fit(self, bits, labels):
        import lightgbm

        self.model = lightgbm.train(self.parameters, lightgbm.Dataset(bits, labels), num_boost_round=1)
        return self

    def score(self, bits, labels):
        return float(((self.model.predict(bits) > 0.5) == labels).mean())


def make_model(job: dict):
    """Return the model of a job and the loss it grows by."""
    if job["model"] == "foretree":
        from foretree import LookaheadTreeClassifier

        return LookaheadTreeClassifier(job["depth"], job["lookahead"], n_jobs=job["n_jobs"])
    if job["model"] == "scikit-learn":
        from sklearn.tree import DecisionTreeClassifier

        return DecisionTreeClassifier(max_depth=job["depth"], random_state=0)
    return LightTree(job["depth"])


def resident() -> int:
    """Return the bytes of this process in memory now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def peak() -> int:
    """Return the most bytes this process has had in memory."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def work(job: dict) -> dict:
    """Fit one model in this process; return its seconds, bytes and accuracy."""
    rng = np.random.default_rng(1)
    small = rng.integers(0, 2, (1000, N_SPLITS)).astype(job["dtype"])
    make_model(job).fit(small, rng.integers(0, 2, 1000))  # loads what the first fit loads
    bits, labels = read_table(Path(job["folder"]), job["dtype"])
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what libraries freed must not hide what the fit takes
    before, peak_before = resident(), peak()
    model = make_model(job)
    model.fit(bits, labels)
    extra = peak() - before
    seconds = best_of(lambda: model.fit(bits, labels), seconds=5.0, most=job["repeat"])
    return {
        **{key: job[key] for key in ("model", "depth", "lookahead", "n_jobs", "dtype")},
        "rows": len(labels), "splits": N_SPLITS, "input_bytes": bits.nbytes, "seconds": seconds,
        "extra_bytes": extra, "peak_before_over_resident": peak_before - before, "accuracy": model.score(bits, labels),
    }  # fmt: skip


def run(job: dict) -> dict:
    """Run a job in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--job", json.dumps(job)], stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def jobs(options: argparse.Namespace, folder: Path) -> list[dict]:
    common = {"depth": options.depth, "folder": str(folder), "repeat": options.repeat}
    ours = [
        {"model": "foretree", "lookahead": look, "n_jobs": n_jobs, "dtype": dtype}
        for look in options.lookahead
        for n_jobs in options.n_jobs
        for dtype in (("uint8", "float32") if n_jobs == 1 and look == options.lookahead[0] else ("uint8",))
    ]
    peers = [
        {"model": name, "lookahead": None, "n_jobs": 1, "dtype": "float32"}
        for name in ("scikit-learn", "lightgbm")
    ]
    return [{**job, **common} for job in ours + peers]


def line(row: dict, packed: int) -> str:
    name = row["model"] + ("" if row["lookahead"] is None else f", lookahead {row['lookahead']}")
    return (
        f"{name:22s}{row['n_jobs']:3d} jobs  {row['dtype']:8s}{row['input_bytes'] / 1e6:7.0f} MB"
        f"{row['seconds']:9.3f} s{row['extra_bytes'] / 1e6:9.1f} MB{row['extra_bytes'] / packed:7.2f} x packed"
        f"{100 * row['accuracy']:8.2f} %"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--depth", type=int, default=8)
    parser.add_argument("--lookahead", type=int, nargs="+", default=[2, 1])
    parser.add_argument("--n-jobs", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        print(json.dumps(work(json.loads(options.job))))
        return
    packed = options.rows * -(-N_SPLITS // 32) * 4
    print(
        f"{options.rows} rows x {N_SPLITS} splits, depth {options.depth}; packed bits {packed / 1e6:.1f} MB"
    )
    print(f"{'':31s}{'input':>15s}{'fit':>11s}{'extra, peak':>12s}{'':14s}{'train acc.':>10s}")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        write_table(Path(folder), 2000)
        for job in jobs(options, Path(folder)):
            run({**job, "repeat": 1})  # compiles
        write_table(Path(folder), options.rows)
        for job in jobs(options, Path(folder)):
            rows.append(run(job))
            print(line(rows[-1], packed), flush=True)
    ours = [row for row in rows if row["model"] == "foretree"]
    most = {
        n_jobs: max(row["extra_bytes"] for row in ours if row["n_jobs"] == n_jobs) / packed
        for n_jobs in options.n_jobs
    }
    first = next(row for row in ours if row["n_jobs"] == 1)
    for row in rows:
        if row["model"] != "foretree":
            print(
                f"{row['model']} takes {row['seconds'] / first['seconds']:.1f} times as long as lookahead "
                f"{first['lookahead']}, and {row['extra_bytes'] / first['extra_bytes']:.1f} times its extra memory"
            )
    for n_jobs, times in most.items():
        verdict = "at most" if times <= 2 else "MORE THAN"
        print(
            f"with {n_jobs} jobs, {verdict} 2 times the packed bits beyond the input (most {times:.2f} times)"
        )
    print("kept in", keep("large", rows, packed_bytes=packed, most_times_packed=most))


if __name__ == "__main__":
    main()
