"""The questions of Sections 5.2 to 5.5, answered with the numbers at hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import pandas as pd

from foretree.bench import compare, facts, figures, results, tables
from foretree.bench.layout import Cell, Table
from foretree.bench.study import Findings

_SMALL_P = 0.05
_FEW = 5
_LOSSES = {"M": "misclassification", "G": "Gini"}
THREE = ["BendersOCT", "CART-G", "HybridRST"]
PAPER_BEST = {"HybridRST": 808, "BendersOCT": 591, "CART-G": 585}
PAPER_GAPS = {"HybridRST": (0.8, 1.2), "CART-G": (1.5, 2.8), "BendersOCT": (5.2, 6.6)}


@dataclass(frozen=True)
class Section:
    """One question: what the numbers say, with the figures and tables that show it."""

    anchor: str
    title: str
    paragraphs: tuple[str, ...]
    figures: Mapping[str, Callable[[], figures.Figure]] = field(default_factory=dict)
    tables: tuple[Table, ...] = ()


def sections(findings: Findings) -> list[Section]:
    """Return a section for every question the store has cells for."""
    built = [
        _agreement(findings),
        _two_or_one(findings),
        _three_or_two(findings),
        _which_loss(findings),
        _sweet_spot(findings),
        _pathology(findings),
        _times(findings),
    ]
    return [section for section in built if section is not None]


def _duel(findings: Findings, first: str, second: str, metric: str) -> str:
    instances = findings.instances([first, second], metric)
    counts = compare.counts(instances)
    wins = counts["wins"].groupby("title").sum()
    n_ties = int(counts.xs(first, level="title")["ties"].sum())
    p_value = compare.wilcoxon(instances)[first, second]
    means = instances.mean() * 100
    n_datasets = instances.index.get_level_values("dataset").nunique()
    return (
        f"{second} against {first}, {figures.SAMPLES[metric]}, {len(instances):,} instances: {second} wins "
        f"{wins[second]}, {first} wins {wins[first]}, {n_ties} ties. Mean accuracy {means[second]:.2f}% "
        f"against {means[first]:.2f}%. Wilcoxon's signed-rank test over {n_datasets} datasets: "
        f"p {_p(p_value)}{'' if p_value < _SMALL_P else ', no difference at 5%'}."
    )


def _p(value: float) -> str:
    return f"= {value:.3f}" if value >= 0.001 else "< 0.001"


def _pair_figures(findings: Findings, wanted: Sequence[str]) -> dict[str, Callable[[], figures.Figure]]:
    built: dict[str, Callable[[], figures.Figure]] = {}
    for name, first, second, metric in figures.PAIRS:
        if name in wanted and findings.has(first, second):
            instances = findings.instances([first, second], metric)
            built[name.lower().replace(" ", "-")] = partial(figures.win_bars, name, instances, metric)
    return built


def _two_or_one(findings: Findings) -> Section | None:
    pairs = [pair for pair in (("CART-M", "RST-M"), ("CART-G", "RST-G")) if findings.has(*pair)]
    if not pairs:
        return None
    texts = [_duel(findings, *pair, metric) for pair in pairs for metric in ("test", "train")]
    texts += _without_the_stop(findings)
    built = _pair_figures(findings, ("Figure 5", "Figure 6"))
    drawn = {"CART-M", "CART-G", "RST-M", "RST-G", "HybridRST", "greedy-M"}
    titles = [title for title in findings.titles if title in drawn]
    built["accuracy-by-depth"] = partial(figures.accuracy_by_depth, findings.answers, titles)
    return Section("two-or-one", "5.2 Are two steps better than one?", tuple(texts), built)


def _without_the_stop(findings: Findings) -> list[str]:
    """Return what is left of two steps' lead over a one-step tree that grows as far as they do."""
    pairs = [pair for pair in (("greedy-M", "RST-M"), ("greedy-G", "RST-G")) if findings.has(*pair)]
    if not pairs:
        return []
    why = (
        "CART-M stops where one split lowers no error; RST does not stop there. greedy-M and greedy-G are one "
        "step without that stop, so that the look alone is compared:"
    )
    return [why, *(_duel(findings, *pair, metric) for pair in pairs for metric in ("test", "train"))]


def _three_or_two(findings: Findings) -> Section | None:
    pairs = [pair for pair in (("RST-M", "RST3-M"), ("RST-G", "RST3-G")) if findings.has(*pair)]
    if not pairs:
        return None
    texts = [
        "The paper left this open. Only instances that three steps finished are compared; depth 2 is left "
        "out, where both look to the bottom."
    ]
    built: dict[str, Callable[[], figures.Figure]] = {}
    for first, second in pairs:
        deeper = _deeper_than_two(findings)
        texts += [_duel(deeper, first, second, metric) for metric in ("test", "train")]
        name = f"three-against-two-{second[-1].lower()}"
        instances = deeper.instances([first, second], "test")
        built[name] = partial(figures.win_bars, "Three steps or two", instances, "test")
    return Section("three-or-two", "Are three steps better than two?", tuple(texts), built)


def _deeper_than_two(findings: Findings) -> Findings:
    from dataclasses import replace

    return replace(findings, answers=findings.answers[findings.answers["depth"] > 2])


def _which_loss(findings: Findings) -> Section | None:
    if not findings.has("RST-M", "RST-G"):
        return None
    texts = [_duel(findings, "RST-M", "RST-G", metric) for metric in ("train", "test")]
    texts += [_switch(findings, metric) for metric in ("train", "test")]
    built = _pair_figures(findings, ("Figure 7", "Figure 8"))
    return Section(
        "which-loss", "5.3 Misclassification or Gini, and where do they switch?", tuple(texts), built
    )


def _switch(findings: Findings, metric: str) -> str:
    counts = compare.counts(findings.instances(["RST-M", "RST-G"], metric))["wins"].unstack("title")
    ahead = counts["RST-M"] - counts["RST-G"]
    leads = ", ".join(f"depth {depth}: {lead:+d}" for depth, lead in ahead.items())
    return f"RST-M's wins less RST-G's, {figures.SAMPLES[metric]}: {leads}. {_verdict(ahead)}."


def _verdict(ahead: pd.Series) -> str:
    """Return from which depth on Gini stays ahead; ahead (n_depths,) is misclassification's lead."""
    depths = [int(depth) for depth in ahead.index]
    behind = [int(depth) for depth, lead in ahead.items() if lead < 0]
    since = next((depth for depth in depths if ahead.loc[depth:].lt(0).all()), None)
    paper = f"(the paper: beyond {facts.SWITCH_DEPTH})"
    if since is not None:
        return f"Gini wins more from depth {since} on {paper}"
    if not behind:
        return f"Gini wins more at no depth {paper}"
    return f"Gini wins more at depth {', '.join(map(str, behind))} alone and never for good {paper}"


def _sweet_spot(findings: Findings) -> Section | None:
    three = [title for title in THREE if findings.has(title)]
    if "HybridRST" not in three or len(three) < 2:
        return None
    instances = findings.instances(three)
    texts = [_best_counts(instances), _gap_text(instances)]
    if "BendersOCT" in findings.borrowed:
        where = f"on {findings.borrowed['BendersOCT']} of {findings.ours['dataset'].nunique()} datasets"
        texts.append(
            f"BendersOCT's answers are the authors', fold by fold, {where}, from the sheet beside the data."
        )
    texts += _lead_by_depth(findings, three)
    if "BendersOCT" not in three:
        texts.append(
            "BendersOCT is missing: it has no cells here and the authors' sheet is not beside the data."
        )
    built: dict[str, Callable[[], figures.Figure]] = {}
    built["figure-9"] = partial(figures.win_bars, "Figure 9", instances, "test")
    built |= _optimal_methods(findings)
    ranked = _ranked_titles(findings)
    texts.append(_friedman_text(findings.instances(ranked)))
    built["critical-difference"] = partial(figures.critical_difference, findings.instances(ranked))
    titles = [title for title in findings.titles if title in set(findings.ours["title"])]
    for cost in ("leaves", "seconds"):
        built[f"pareto-{cost}"] = partial(figures.pareto, findings.complete(titles), titles, cost)
    tests = _wilcoxon_table(findings.instances(ranked))
    return Section(
        "sweet-spot", "5.4 Is there a sweet spot between CART and the optimum?", tuple(texts), built, (tests,)
    )


def _optimal_methods(findings: Findings) -> dict[str, Callable[[], figures.Figure]]:
    """Return Figure 10's two halves, over the instances that all three optimal methods answered."""
    titles = ["BinOCT", "FlowOCT", "BendersOCT"]
    if not findings.has(*titles):
        return {}
    return {
        f"figure-10-{metric}": partial(
            figures.win_bars, "Figure 10", findings.instances(titles, metric), metric
        )
        for metric in figures.SAMPLES
    }


def _ranked_titles(findings: Findings) -> list[str]:
    """Return the titles that answered every instance the paper's three did, so that all are ranked alike."""
    n_full = len(findings.instances(["HybridRST"]))
    return [title for title in findings.titles if len(findings.instances([title])) == n_full]


def _best_counts(instances: pd.DataFrame) -> str:
    best = compare.best_or_tied(instances)
    parts = [
        f"{title} {count} ({count / len(instances):.1%}; the paper {PAPER_BEST[title]})"
        for title, count in best.items()
    ]
    return f"Best or tied for best out-of-sample, of {len(instances):,} instances: {', '.join(parts)}."


def _lead_by_depth(findings: Findings, titles: list[str]) -> list[str]:
    """Return where HybridRST's count differs from the count in the authors' sheet, if that is there."""
    if findings.sheet is None or titles != THREE:
        return []
    grid = findings.sheet.rename(columns={"method": "title"})
    theirs = results.wide(grid, titles, "test")
    ours = findings.instances(titles)
    both = theirs.index.intersection(ours.index)
    if both.empty:
        return []
    counts = {
        name: compare.is_best(table.loc[both])["HybridRST"] for name, table in (("a", ours), ("b", theirs))
    }
    by_depth = pd.DataFrame(counts).groupby("depth").sum()
    depths = ", ".join(f"depth {depth}: {row['a']} and {row['b']}" for depth, row in by_depth.iterrows())
    by_dataset = pd.DataFrame(counts).groupby("dataset").sum()
    gained = (by_dataset["a"] - by_dataset["b"]).sort_values(key=abs, ascending=False, kind="stable")
    far = ", ".join(f"{name} {gain:+d}" for name, gain in gained[gained.abs() > _FEW].items()) or "none"
    return [
        f"HybridRST best or tied, ours and the sheet's: {depths}; datasets that differ by more than {_FEW} "
        f"instances: {far}. Trees of equal loss are different trees, and test differently."
    ]


def _gap_text(instances: pd.DataFrame) -> str:
    datasets = compare.gaps_over_datasets(instances)
    single = compare.gaps_over_instances(instances)
    parts = [
        f"{title} {gap.mean:.1f}% ({gap.deviation:.1f}%; the paper {PAPER_GAPS[title][0]}% "
        f"({PAPER_GAPS[title][1]}%); instance by instance {single[title].mean:.1f}% "
        f"({single[title].deviation:.1f}%))"
        for title, gap in datasets.items()
    ]
    return (
        f"Gap to the best of them, averaged over datasets, with its deviation: {'; '.join(parts)}. "
        "The paper's text speaks of 1,330 instances, but its numbers are those of the 19 averages of Table 3."
    )


def _friedman_text(instances: pd.DataFrame) -> str:
    found = compare.ranks(instances)
    listed = ", ".join(f"{title} {rank:.2f}" for title, rank in found.mean.items())
    return (
        f"Mean ranks over {found.n_datasets} datasets: {listed}. Friedman's p {_p(found.p_value)}; "
        f"Nemenyi's critical difference at 5% is {found.critical_difference:.2f}."
    )


def _wilcoxon_table(instances: pd.DataFrame) -> Table:
    values = compare.wilcoxon(instances)
    titles = list(instances.columns)
    rows = []
    for first in titles:
        cells = [Cell(first)]
        for second in titles:
            p_value = values.get((first, second), values.get((second, first)))
            cells.append(
                Cell(
                    "" if p_value is None else _p(p_value).removeprefix("= "),
                    best=p_value is not None and p_value < _SMALL_P,
                )
            )
        rows.append(tuple(cells))
    notes = ("Bold: below 0.05, uncorrected for the number of pairs.",)
    title = "Wilcoxon's signed-rank test of out-of-sample accuracy over datasets, p of each pair"
    return Table("Wilcoxon", title, ("", *titles), tuple(rows), notes=notes)


def _pathology(findings: Findings) -> Section | None:
    ladders = {
        (letter, depth): found
        for letter in "MG"
        for depth in (3, 4, 5)
        if (found := findings.ladder(letter, depth))
    }
    if not ladders:
        return None
    texts: list[str] = []
    built: dict[str, Callable[[], figures.Figure]] = {}
    for (letter, depth), by_steps in ladders.items():
        texts.append(_ladder_text(letter, depth, by_steps))
        built[f"pathology-{letter.lower()}-depth-{depth}"] = partial(
            figures.pathology, by_steps, depth, _LOSSES[letter]
        )
    return Section("pathology", "Does looking further always help? Learning pathology", tuple(texts), built)


def _ladder_text(letter: str, depth: int, by_steps: dict[int, pd.DataFrame]) -> str:
    loss = _LOSSES[letter]
    n_datasets = next(iter(by_steps.values()))["dataset"].nunique()
    means = {
        steps: table.groupby("dataset")[["train", "test"]].mean().mean() * 100
        for steps, table in by_steps.items()
    }
    parts = [
        f"k = {steps}: {mean['train']:.2f}% train, {mean['test']:.2f}% test" for steps, mean in means.items()
    ]
    best = max(means, key=lambda steps: float(means[steps]["test"]))
    verdict = (
        "the furthest look also tests best" if best == depth else f"k = {best} tests best, not the optimum"
    )
    return (
        f"Depth {depth}, {loss}, {n_datasets} datasets that every k finished: {'; '.join(parts)}: {verdict}."
    )


def _times(findings: Findings) -> Section | None:
    titles = [title for title in findings.titles if title in set(findings.ours["title"])]
    if not titles:
        return None
    sums = findings.ours.groupby("title")["seconds"].sum()
    n_fits = findings.ours.groupby("title")["seconds"].count()
    listed = ", ".join(f"{title} {sums[title]:.1f} s for {n_fits[title]:,}" for title in titles)
    texts = (
        f"All fits together, one thread each: {listed}.",
        "The paper's HybridRST took about 19 hours for 1,330 fits by its Table 4.",
        "This figure and those of accuracy against leaves and time show the depths at which a method answered "
        "every instance that HybridRST did.",
    )
    with_benders = [*titles, *(["BendersOCT"] if "BendersOCT" not in titles else [])]
    built = {"time-by-depth": partial(figures.times_by_depth, findings.complete(titles), with_benders)}
    return Section("times", "5.5 Computation times", texts, built, (tables.table_4(findings.ours),))


def _agreement(findings: Findings) -> Section | None:
    titles = [
        title
        for title in ("CART-G", "CART-M", "RST-M", "RST-G", "HybridRST")
        if title in set(findings.ours["title"])
    ]
    if not titles:
        return None
    texts = [_table_agreement(findings, title) for title in titles if title != "CART-M"]
    found = findings.agreement
    if found is not None and found.empty:
        found = None
    if found is None:
        texts.append("The authors' per-fold sheet is not beside the data; without it folds are not compared.")
        return Section("agreement", "Do we get the paper's numbers?", tuple(texts))
    shown = sorted(set(found["title"]))
    tables_ = (_fold_agreement(found, shown), _difference_by_depth(found, shown))
    return Section("agreement", "Do we get the paper's numbers?", (*texts, *_why(found)), tables=tables_)


def _why(found: pd.DataFrame) -> list[str]:
    """Return why accuracies differ where they do, with the shares that show it."""
    same = found.groupby("title")["same_train"].mean()
    apart = found[found["dataset"].isin(["adult", "seismic-bumps"]) & (found["depth"] == 2)]
    texts = []
    if len(apart):
        names = " and ".join(sorted(set(apart["dataset"])))
        texts.append(
            f"{names}: already at depth 2 only {apart['same_test'].mean():.0%} of the test accuracies are the "
            "sheet's, whatever the method; if the authors had these rows in another order, their folds were "
            "others."
        )
    shallow = found[(found["title"] == "RST-M") & (found["depth"] == 2)]
    shallow = shallow[~shallow["dataset"].isin(["adult", "seismic-bumps"])]
    if len(shallow):
        texts.append(
            f"RST-M at depth 2 is an optimum, which has one value: on the other datasets "
            f"{shallow['same_train'].mean():.1%} of the training accuracies are the sheet's, and {_near(found)} "
            "Deeper, many "
            "splits of a node cost the same number of misclassified rows and each leads to another tree; the "
            "paper does not say which its solver took. Ours is a fixed rule, the same on every run."
        )
    variants = [title for title in same.index if title.startswith("RST-M [")]
    if variants and "RST-M" in same:
        listed = ", ".join(f"{title} {same[title]:.1%}" for title in ["RST-M", *variants])
        texts.append(f"Other choices among equals agree more or less often: {listed}. None is the authors'.")
    if {"CART-M", "greedy-M"} <= set(same.index):
        texts.append(
            f"The authors' CART-M stops where one split lowers no error: with that stop {same['CART-M']:.1%} "
            f"of the training accuracies are theirs, without it (greedy-M) {same['greedy-M']:.1%}."
        )
    return texts


def _near(found: pd.DataFrame) -> str:
    means = found[found["title"].eq("RST-M") & found["depth"].eq(2)].groupby("dataset")
    means = means[["train", "paper_train"]].mean() * 100
    apart = (means["train"] - means["paper_train"]).abs()
    near = int(apart.le(0.05).sum())
    return f"{near} of all {len(apart)} averages lie within 0.05 points of its (the furthest: {apart.max():.3f})."


def _table_agreement(findings: Findings, title: str) -> str:
    grid = findings.ours[(findings.ours["title"] == title) & findings.ours["depth"].isin(facts.DEPTHS)]
    means = grid.groupby("dataset")["train"].mean() * 100
    paper = {name: facts.accuracy(str(name), None, "train", title) for name in means.index}
    far = {name: means[name] - value for name, value in paper.items() if value is not None}
    near = [name for name, value in far.items() if abs(value) <= 0.1 + 1e-9]
    rest = ", ".join(f"{name} {value:+.3f}" for name, value in sorted(far.items()) if name not in near)
    beyond = f"; beyond: {rest}" if rest else ""
    return (
        f"{title}: in-sample accuracy over all depths is within 0.1 points of the paper's Table C.1 for "
        f"{len(near)} of {len(far)} datasets{beyond}."
    )


def _fold_agreement(found: pd.DataFrame, titles: Sequence[str]) -> Table:
    shares = found.groupby("title")[["same_train", "same_test"]].mean() * 100
    by_depth = found.groupby(["title", "depth"])["same_train"].mean().unstack("depth") * 100
    rows = []
    for title in titles:
        values = [*shares.loc[title], *by_depth.loc[title]]
        rows.append((Cell(title), *(Cell(f"{value:.1f}") for value in values)))
    headers = ("Method", "train", "test", *map(str, by_depth.columns))
    groups = (("", 1), ("all depths", 2), ("train by depth", len(by_depth.columns)))
    title = "Instances (%) in which ours equals the authors' sheet, fold by fold, as printed"
    return Table("Fold agreement", title, headers, tuple(rows), groups)


def _difference_by_depth(found: pd.DataFrame, titles: Sequence[str]) -> Table:
    rows = []
    for title in titles:
        part = found[found["title"] == title]
        cells = [Cell(title)]
        for metric in ("train", "test"):
            means = (part[metric] - part[f"paper_{metric}"]).groupby(part["depth"]).mean() * 100
            cells += [Cell(f"{round(value, 2) + 0.0:+.2f}") for value in means]
        rows.append(tuple(cells))
    depths = sorted(found["depth"].unique())
    groups = (("", 1), ("in-sample by depth", len(depths)), ("out-of-sample by depth", len(depths)))
    headers = ("Method", *(str(depth) for depth in depths * 2))
    return Table(
        "Mean difference", "Ours less the authors' sheet, in points, by depth", headers, tuple(rows), groups
    )
