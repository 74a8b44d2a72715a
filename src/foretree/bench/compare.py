"""Count wins and ties, measure gaps to the best, and test differences."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd


def as_printed(values: pd.DataFrame | pd.Series) -> pd.DataFrame | pd.Series:
    """Return accuracies as the authors' sheet prints them: to four decimals, then to three, halves to even.

    Equal there is a tie. 202 of 275 right is 0.734545..., which becomes 0.7345 and then 0.734.
    """
    return np.rint(np.rint(values * 10_000) / 10) / 1000


@dataclass(frozen=True)
class Gap:
    """How far a method stays behind the best of its rivals, in percent of the best."""

    mean: float
    deviation: float


@dataclass(frozen=True)
class Ranks:
    """Friedman's test over datasets: mean rank a title (1 is best), p, and Nemenyi's critical difference."""

    mean: pd.Series
    p_value: float
    critical_difference: float
    n_datasets: int


def counts(instances: pd.DataFrame) -> pd.DataFrame:
    """Return wins (strictly best) and ties for best, a row for each (depth, title); instances (n, titles)."""
    best = is_best(instances)
    alone = best.sum(axis=1).eq(1)
    depth = best.index.get_level_values("depth")
    wins = best[alone].groupby(depth[alone]).sum().stack()
    ties = best[~alone].groupby(depth[~alone]).sum().stack()
    both = pd.DataFrame({"wins": wins, "ties": ties}).rename_axis(["depth", "title"])
    order = pd.MultiIndex.from_product([sorted(set(depth)), instances.columns], names=both.index.names)
    return both.reindex(order).fillna(0).astype(int)


def is_best(instances: pd.DataFrame) -> pd.DataFrame:
    """Return which titles are best or tied for best, a row an instance."""
    values = as_printed(instances)
    return values.eq(values.max(axis=1), axis=0)


def best_or_tied(instances: pd.DataFrame) -> pd.Series:
    """Return in how many instances each title is best or tied for best."""
    return counts(instances).sum(axis=1).groupby("title").sum().reindex(instances.columns)


def gaps_over_datasets(instances: pd.DataFrame) -> dict[str, Gap]:
    """Return the percent gap to the best, from accuracies averaged per dataset.

    The paper's text speaks of 1,330 instances; its 0.8, 1.5 and 5.2 come out of the 19 averages of Table 3,
    with the population's deviation.
    """
    return _gaps(instances.groupby("dataset").mean())


def gaps_over_instances(instances: pd.DataFrame) -> dict[str, Gap]:
    """Return the percent gap to the best, instance by instance."""
    return _gaps(instances)


def _gaps(values: pd.DataFrame) -> dict[str, Gap]:
    best = values.max(axis=1)
    percent = values.rsub(best, axis=0).div(best, axis=0) * 100
    return {title: Gap(float(percent[title].mean()), float(percent[title].std(ddof=0))) for title in values}


def wilcoxon(instances: pd.DataFrame) -> dict[tuple[str, str], float]:
    """Return the two-sided p of the signed-rank test for every pair, over the datasets' mean accuracies."""
    from scipy.stats import wilcoxon as signed_rank

    means = instances.groupby("dataset").mean()
    pairs = combinations(means.columns, 2)
    return {(a, b): _signed_rank(signed_rank, means[a] - means[b]) for a, b in pairs}


def _signed_rank(test: object, differences: pd.Series) -> float:
    # Zero differences are split between the signs (Pratt); all zero means nothing to tell apart.
    values = differences.round(12).to_numpy()
    if not np.any(values):
        return 1.0
    # The normal approximation, since exact tables know neither ties nor zeros.
    return float(test(values, zero_method="pratt", method="approx").pvalue)  # type: ignore[operator]


def ranks(instances: pd.DataFrame, alpha: float = 0.05) -> Ranks:
    """Return the mean ranks over datasets with Friedman's p and Nemenyi's critical difference."""
    from scipy.stats import friedmanchisquare

    means = instances.groupby("dataset").mean().round(12)
    n_datasets, n_titles = means.shape
    columns = [means[title].to_numpy() for title in means]
    if n_titles <= 2:
        p_value = float("nan")
    elif means.nunique(axis=1).eq(1).all():
        p_value = 1.0
    else:
        p_value = float(friedmanchisquare(*columns).pvalue)
    ordered = means.rank(axis=1, ascending=False).mean().sort_values()
    return Ranks(ordered, p_value, critical_difference(n_titles, n_datasets, alpha), n_datasets)


def critical_difference(n_titles: int, n_datasets: int, alpha: float = 0.05) -> float:
    """Return Nemenyi's critical difference of mean ranks."""
    from scipy.stats import studentized_range

    quantile = studentized_range.ppf(1 - alpha, n_titles, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(n_titles * (n_titles + 1) / (6 * n_datasets)))


def indistinct(mean_ranks: pd.Series, difference: float) -> list[tuple[float, float]]:
    """Return the longest runs of mean ranks that lie within the critical difference, as (first, last)."""
    values = np.sort(mean_ranks.to_numpy())
    runs = [(first, values[values <= first + difference][-1]) for first in values]
    longest = [run for run in runs if run[0] < run[1]]
    return [run for run in longest if not any(_inside(run, other) for other in longest)]


def _inside(run: tuple[float, float], other: tuple[float, float]) -> bool:
    return other != run and other[0] <= run[0] and run[1] <= other[1]


def pareto(cost: npt.NDArray[np.float64], gain: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Return which points (n,) no other point beats in cost and in gain."""
    cheaper = cost[:, None] <= cost
    better = gain[:, None] >= gain
    strictly = (cost[:, None] < cost) | (gain[:, None] > gain)
    beaten: npt.NDArray[np.bool_] = np.any(cheaper & better & strictly, axis=0)
    return ~beaten


_KIN = {"greedy-M": "CART-M", "greedy-G": "CART-G"}


def _of_the_paper(title: str) -> str:
    """Return the paper's title of a method, of a variant of it ("RST-M [tie_break=first]"), or of its kin."""
    base = title.split(" [")[0]
    return _KIN.get(base, base)


def agreement(ours: pd.DataFrame, sheet: pd.DataFrame) -> pd.DataFrame:
    """Return ours beside the sheet's, fold by fold, and whether they print alike."""
    theirs = sheet.rename(columns={"train": "paper_train", "test": "paper_test"})
    both = ours.assign(method=ours["title"].map(_of_the_paper)).merge(
        theirs, on=["dataset", "depth", "fold", "method"]
    )
    for metric in ("train", "test"):
        both[f"same_{metric}"] = as_printed(both[metric]) == as_printed(both[f"paper_{metric}"])
    return both
