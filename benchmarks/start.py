"""How long starting takes: the import, a second process that fits a small table, the first compile of all.

    python benchmarks/start.py [--repeat 7] [--no-compile] [--load 0.7]

A process's time runs from its start to its end, the interpreter's own start within it. For the first compile
NUMBA_CACHE_DIR is an empty folder; run it on a quiet machine (it waits for one up to --patience seconds).
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "1")

from tables import keep

BEGIN = "import time; began = time.perf_counter()\n"
END = "\nprint('seconds', time.perf_counter() - began)\n"
IMPORT = "import foretree\n"
ZERO_ONE = (
    "import numpy as np\nrng = np.random.default_rng(0)\n"
    "X = rng.integers(0, 2, (200, 8)).astype(np.float32)\ny = (X[:, 0] != X[:, 1]) | (rng.random(200) < 0.1)\n"
)
PANDAS = (
    "import numpy as np, pandas as pd\nrng = np.random.default_rng(0)\n"
    "X = pd.DataFrame({'age': rng.integers(17, 90, 200), 'income': rng.normal(30, 9, 200), "
    "'city': rng.choice(['Ankara', 'Izmir', 'Bursa'], 200)})\n"
    "y = (X['age'] > 40) == (X['city'] == 'Izmir')\n"
)
FIT = "\nimport foretree\nfitting = time.perf_counter()\nmodel = foretree.LookaheadTreeClassifier({}).fit(X, y)\n"
FIT_END = "print('fit', time.perf_counter() - fitting)\nmodel.predict(X)\n"
# What a process does beyond nothing, by name; the target of its whole time, warm, and of its first compile.
TASKS = {
    "nothing": ("pass", None),
    "import numpy, numba, sklearn.tree, narwhals": (
        "import numpy, numba, sklearn.tree, narwhals",
        None,
    ),
    "import pandas": ("import pandas", None),
    "import foretree": (IMPORT, 0.5),
    "fit 0/1, default": (ZERO_ONE + FIT.format("") + FIT_END, 1.5),
    "fit 0/1, lookahead=3": (ZERO_ONE + FIT.format("lookahead=3") + FIT_END, 1.5),
    "fit a pandas table, default": (PANDAS + FIT.format("") + FIT_END, 1.5),
}
COMPILE_TARGET = 20.0


def run(body: str, **environment: str) -> dict:
    """Run a process; return its seconds in all, from the first line to the last, and of the fit."""
    # A setting against compiled sources would slow down ours alone: installed libraries come with theirs.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", **environment}
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + body + END],
        stdout=subprocess.PIPE, text=True, check=True, env=environment,
    )  # fmt: skip
    found = {"process": time.perf_counter() - began}
    for each in done.stdout.splitlines():
        name, _, value = each.partition(" ")
        if name in ("seconds", "fit"):
            found[name] = float(value)
    return found


def warm(repeat: int) -> list[dict]:
    """Time every task with everything compiled, in turns."""
    best: dict[str, dict] = {}
    for _ in range(repeat + 1):  # the first round compiles and fills the page cache
        for name, (body, _) in TASKS.items():
            found = run(body)
            known = best.setdefault(name, {"task": name, "phase": "warm", **found})
            known.update({key: min(known[key], value) for key, value in found.items()})
    return list(best.values())


def first_compile() -> list[dict]:
    """Time the fits with nothing compiled, each with an empty cache of its own, and once more after it."""
    rows = []
    for name, (body, _) in TASKS.items():
        if not name.startswith("fit"):
            continue
        with tempfile.TemporaryDirectory() as folder:
            for phase in ("first compile", "second process"):
                load = os.getloadavg()[0]
                rows.append({"task": name, "phase": phase, "load": load, **run(body, NUMBA_CACHE_DIR=folder)})
    return rows


def wait_for_quiet(load: float, patience: float) -> float:
    """Wait until fewer than `load` processes want to run besides this one; return the load there is."""
    began = time.monotonic()
    while os.getloadavg()[0] > load and time.monotonic() - began < patience:
        time.sleep(5)
    return os.getloadavg()[0]


def line(row: dict) -> str:
    target = COMPILE_TARGET if row["phase"] == "first compile" else TASKS[row["task"]][1]
    # The import is measured from within: the interpreter's own start is not ours.
    taken = row["seconds"] if row["task"].startswith("import") else row["process"]
    fit = f"{row['fit']:9.3f} s" if "fit" in row else f"{'':11s}"
    verdict = "" if target is None else f"   {'under' if taken < target else 'OVER'} {target} s"
    load = f"   load {row['load']:.2f}" if "load" in row else ""
    return f"{row['task']:46s}{row['phase']:15s}{row['process']:9.3f} s{row['seconds']:9.3f} s{fit}{verdict}{load}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--no-compile", action="store_true", help="skip the first compile")
    parser.add_argument("--load", type=float, default=0.7, help="what counts as a quiet machine")
    parser.add_argument("--patience", type=float, default=120.0)
    options = parser.parse_args()
    print(f"{'':61s}{'process':>11s}{'inside':>11s}{'fit':>11s}")
    rows = warm(options.repeat)
    for row in rows:
        print(line(row), flush=True)
    if not options.no_compile:
        load = wait_for_quiet(options.load, options.patience)
        print(f"one-minute load before the first compile: {load:.2f}", flush=True)
        for row in first_compile():
            rows.append(row)
            print(line(row), flush=True)
    print("kept in", keep("start", rows))


if __name__ == "__main__":
    main()
