"""Encoding a million rows: SplitEncoder beside scikit-learn's OneHotEncoder + KBinsDiscretizer.

Run: OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1 python benchmarks/encode.py [--rows N] [--repeat N] [--json FILE]
Both make about 135 yes/no columns of the same table of 6 numeric and 8 text columns, shaped like Adult's.
"""

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sklearn
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder

import foretree
from foretree.encode import SplitEncoder

# As in Adult, but with fewer countries, so that all splits together are 135, as Adult's are.
CATEGORY_COUNTS = (9, 16, 7, 15, 6, 5, 2, 19)


def make_table(n_rows: int) -> pd.DataFrame:
    """A table with Adult's column types: skewed numbers, whole numbers, text with unequal categories."""
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {
        "age": rng.integers(17, 91, n_rows),
        "weight": rng.lognormal(12, 0.5, n_rows).round(),
        "education": rng.binomial(16, 0.6, n_rows),
        "gain": rng.lognormal(8, 1, n_rows).round(),
        "loss": rng.normal(1800, 300, n_rows),
        "hours": rng.binomial(99, 0.4, n_rows),
    }
    for i, count in enumerate(CATEGORY_COUNTS):
        share = 1 / np.arange(1, count + 1)
        labels = np.array([f"column {i} label {j}" for j in range(count)], dtype=object)
        columns[f"text{i}"] = labels[rng.choice(count, n_rows, p=share / share.sum())]
    return pd.DataFrame(columns)


def scikit_learn(table: pd.DataFrame) -> ColumnTransformer:
    numbers = [name for name in table if table[name].dtype.kind in "if"]
    texts = [name for name in table if name not in numbers]
    # Without subsampling its quantiles are as exact as foretree's; `sparse` takes the default, 200,000 rows.
    bins = KBinsDiscretizer(
        10, encode="onehot-dense", dtype=np.float32, quantile_method="linear", subsample=None
    )
    hot = OneHotEncoder(sparse_output=False, dtype=np.float32, drop="if_binary")
    return ColumnTransformer([("numbers", bins, numbers), ("texts", hot, texts)])


def sparse(transformer: ColumnTransformer) -> ColumnTransformer:
    """The same as a sparse matrix and with scikit-learn's subsampling: its quickest setting."""
    (_, bins, _), (_, hot, _) = transformer.transformers
    bins.set_params(encode="onehot", subsample=200_000)
    hot.set_params(sparse_output=True)
    return transformer


def best(step: Callable[[], Any], repeat: int) -> float:
    seconds = []
    for _ in range(repeat):
        start = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def measure(table: pd.DataFrame, repeat: int) -> list[dict[str, Any]]:
    rows = []
    for form in ("dense", "sparse"):
        peer = scikit_learn(table) if form == "dense" else sparse(scikit_learn(table))
        fitted = best(lambda peer=peer: peer.fit_transform(table), repeat)
        n_columns = len(peer.get_feature_names_out())
        again = best(lambda peer=peer: peer.transform(table), repeat)
        rows.append(
            {"encoder": f"scikit-learn, {form}", "columns": n_columns, "fit": fitted, "transform": again}
        )
    for encoder in (SplitEncoder(scheme="onehot"), SplitEncoder(max_bins=11), SplitEncoder(max_bins=32)):
        encoder.fit_pack(table[:1000])  # compiles
        fitted = best(lambda encoder=encoder: encoder.fit_pack(table), repeat)
        again = best(lambda encoder=encoder: encoder.pack(table), repeat)
        name = f"foretree, {encoder.scheme}" + ("" if encoder.scheme == "onehot" else f" {encoder.max_bins}")
        rows.append({"encoder": name, "columns": encoder.n_splits_, "fit": fitted, "transform": again})
    return rows


def report(rows: list[dict[str, Any]]) -> bool:
    """Print the table; return whether foretree with about as many columns beats scikit-learn's quickest."""
    peers = [row for row in rows if row["encoder"].startswith("scikit-learn")]
    fit, transform = (min(peer[step] for peer in peers) for step in ("fit", "transform"))
    print(f"{'encoder':24}{'splits':>7}{'fit+transform':>15}{'transform':>11}{'x fit':>8}{'x transform':>13}")
    for row in rows:
        print(
            f"{row['encoder']:24}{row['columns']:7}{row['fit']:13.3f} s{row['transform']:9.3f} s"
            f"{fit / row['fit']:8.1f}{transform / row['transform']:13.1f}"
        )
    ours = [row for row in rows if row not in peers]
    return all(row["fit"] < fit and row["transform"] < transform for row in ours)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--repeat", type=int, default=3)
    arguments.add_argument("--text", choices=("object", "str", "category"), default="object")
    arguments.add_argument("--json", type=Path)
    options = arguments.parse_args()
    table = make_table(options.rows)
    texts = {name: options.text for name in table if name.startswith("text")}
    table = table.astype(texts)
    rows = measure(table, options.repeat)
    faster = report(rows)
    verdict = "faster in every line" if faster else "NOT faster in every line"
    print(f"\nforetree is {verdict}; ratios: the quickest peer's time over the line's")
    if options.json:
        about = {"foretree": foretree.__version__, "sklearn": sklearn.__version__, "pandas": pd.__version__}
        about |= {"python": platform.python_version(), "rows": options.rows, "text": options.text}
        options.json.write_text(json.dumps({**about, "lines": rows}, indent=1))
    sys.exit(0 if faster else 1)


if __name__ == "__main__":
    main()
