"""Kernels and the functions they are made of: compiled together, kept on disk, found again."""

import os
import subprocess
import sys

MODULE = """
from foretree._kernels.jit import inner, kernel


@inner
def twice(values):
    for i in range(values.size):
        values[i] *= 2.0


@inner
def four_times(values):
    twice(values)
    twice(values)


@kernel
def add_up(values):
    four_times(values)
    total = 0.0
    for i in range(values.size):
        total += values[i]
    return total


@kernel
def first(values):
    twice(values)
    return values[0]
"""


def run(folder, code):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": str(folder)}
    begin = "import numpy as np, made; values = np.arange(1.0, 4.0)\n"
    done = subprocess.run(
        [sys.executable, "-c", begin + code], stdout=subprocess.PIPE, text=True, check=True, env=environment
    )
    return done.stdout.split()


def test_a_kernel_takes_in_inner_functions_fresh_and_from_disk(tmp_path):
    (tmp_path / "made.py").write_text(MODULE)
    add_up = "print(made.add_up(values), sum(made.add_up.stats.cache_hits.values()))"
    assert run(tmp_path, add_up) == ["24.0", "0"]
    assert run(tmp_path, add_up) == ["24.0", "1"]
    # Another kernel finds the inner function on disk.
    first = "print(made.first(values), sum(made.twice.stats.cache_hits.values()))"
    assert run(tmp_path, first) == ["2.0", "1"]


def test_inner_functions_have_no_machine_code_of_their_own(tmp_path):
    (tmp_path / "made.py").write_text(MODULE)
    code = (
        "made.add_up(values)\n"
        "for compiled in (made.add_up, made.twice):\n"
        "    (made_of,) = compiled.overloads.values()\n"
        "    print('define' in str(made_of.library._final_module))\n"
    )
    assert run(tmp_path, code) == ["True", "False"]
