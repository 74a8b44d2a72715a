"""Nodes under a parity gap: sweeps and merging beside the mixed-integer program, on the same costs.

    python benchmarks/coupled.py [--limit 120] [--bound 0.05]

One node: Adult's root, 135 splits, groups by sex. Four nodes: Nursery's second level (26 splits), groups by the first
column's most common value. Both as 0/1 matrices as in the paper.
"""

import argparse
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd

from foretree.constraints import ParityGap
from foretree.mio.blocks import Block
from foretree.mio.coupled import Effort, coupled
from tables import data_folder, keep, load_all


def block_of(bits, group, y, couplings):
    """Return a node's block from its rows, the counts of all cells by matrix products."""
    n_splits, n_classes = bits.shape[1], y.max() + 1
    cells = np.zeros((2, 2, n_splits, n_splits, 2, n_classes))
    for g, c in np.ndindex(2, n_classes):
        sides = [1.0 - bits[(group == g) & (y == c)], bits[(group == g) & (y == c)].astype(float)]
        for r, s in np.ndindex(2, 2):
            cells[r, s, ..., g, c] = sides[r].T @ sides[s]
    whole = np.zeros((2, n_classes))
    np.add.at(whole, (group, y), 1.0)
    prices = 1.0 - np.eye(n_classes)
    alone, sizes = np.arange(n_splits), cells.sum(axis=(-2, -1))
    separates = (sizes > 0).all(axis=1)
    roots = (sizes[0, 0, alone, alone] > 0) & (sizes[1, 1, alone, alone] > 0)
    return Block(
        cells.sum(axis=-2) @ prices,
        np.stack([coupling.of_leaves(cells) for coupling in couplings]),
        (separates | np.eye(n_splits, dtype=bool)) & roots[None, :, None],
        whole.sum(axis=0) @ prices,
        np.stack([coupling.of_leaves(whole) for coupling in couplings]),
    )


def problem(name, bits, group, y, bound, paths):
    """Return the blocks of the rows that answer each path, under one gap over all of them."""
    totals = np.zeros((2, y.max() + 1))
    np.add.at(totals, (group, y), 1.0)
    couplings = ParityGap("group", bound, positive=1).couplings(totals, tuple(range(y.max() + 1)), ("a", "b"))
    nodes = [np.ones(len(y), bool)] if not paths else [
        (bits[:, paths[0]] == r) & (bits[:, paths[1]] == s) for r in (0, 1) for s in (0, 1)
    ]  # fmt: skip
    return (
        name,
        [block_of(bits[rows], group[rows], y[rows], couplings) for rows in nodes if rows.any()],
        couplings,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for each program")
    parser.add_argument("--bound", type=float, default=0.05)
    options = parser.parse_args()
    tables = {name: (bits, labels) for name, bits, labels in load_all(np.uint8)}
    sex = pd.read_csv(data_folder() / "adult.csv")["sex"]
    adult, nursery = tables["adult"], tables["nursery"]
    problems = [
        problem(
            "adult, one node",
            *(adult[0], (sex == sex[0]).to_numpy().astype(int), adult[1]),
            options.bound,
            (),
        ),
        problem(
            "nursery, four nodes",
            nursery[0][:, 1:],
            nursery[0][:, 0].astype(int),
            nursery[1],
            options.bound,
            (0, 5),
        ),
    ]
    rows = []
    for name, blocks, couplings in problems:
        for solver in ("closed", "mip"):
            began = time.perf_counter()
            found = coupled(blocks, couplings, Effort(solver, time.perf_counter() + options.limit, grain=1.0))
            row = {
                "nodes": name, "splits": [block.n_splits for block in blocks], "solver": solver,
                "seconds": time.perf_counter() - began, "errors": found.cost, "bound": found.bound,
                "excess": max(found.excess),
            }  # fmt: skip
            rows.append(row)
            print(
                f"{name:22s}{solver:8s}{row['seconds']:9.3f} s   {row['errors']:.0f} errors, "
                f"at least {row['bound']:.1f}",
                flush=True,
            )
    print("kept in", keep("coupled", rows))


if __name__ == "__main__":
    main()
