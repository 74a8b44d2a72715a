"""The paper's bar figures and the study's own: matplotlib, one PNG and one SVG a figure.

The SVGs carry both modes: their colours are CSS variables with a light and a dark value. PNGs stay white, so
that they print and read on any page.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from foretree.bench import compare, facts

INK = "#1b1b1f"
MUTED = "#6b6b76"
PAPER = "#ffffff"
TIE = "#b9bcc6"
# Okabe and Ito's colours, darkened where a thin line of them would not read on white.
COLOURS = ("#0072b2", "#d55e00", "#00805f", "#a8468a", "#3b8fc4", "#8a6d00", "#5b5b66", "#94470d")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_DARK = {
    INK: "#e8e8ee",
    MUTED: "#a0a0ad",
    PAPER: "#17171c",
    TIE: "#5a5d69",
    "#0072b2": "#56b4e9",
    "#d55e00": "#f58b4c",
    "#00805f": "#3ccba4",
    "#a8468a": "#dd8fc0",
    "#8a6d00": "#e2c044",
    "#3b8fc4": "#9bd3f5",
    "#5b5b66": "#b4b4c2",
    "#94470d": "#d9a37c",
}

Figure = Any
PAIRS = (
    ("Figure 5", "CART-M", "RST-M", "test"),
    ("Figure 6", "CART-G", "RST-G", "test"),
    ("Figure 7", "RST-M", "RST-G", "train"),
    ("Figure 8", "RST-M", "RST-G", "test"),
)
SAMPLES = {"train": "in-sample", "test": "out-of-sample"}


def _new(width: float = 8.0, height: float = 3.4, columns: int = 1) -> tuple[Figure, Any]:
    try:
        import matplotlib as mpl
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("Figures need matplotlib: pip install 'foretree[bench]'") from error
    from matplotlib.figure import Figure as Canvas

    mpl.rcParams.update(_STYLE)
    figure = Canvas(figsize=(width, height), layout="constrained")
    axes = figure.subplots(1, columns, squeeze=False)[0]
    return figure, axes[0] if columns == 1 else axes


_STYLE: dict[Any, Any] = {
    "font.size": 9,
    "font.family": "sans-serif",
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.titlesize": 10,
    "axes.titlecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": PAPER,
    "figure.facecolor": PAPER,
    "xtick.color": INK,
    "ytick.color": INK,
    "text.color": INK,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "foretree",
}


def colour_of(title: str, titles: Sequence[str]) -> str:
    """Return a method's colour: the same in every figure for the paper's methods."""
    fixed = ("HybridRST", "CART-G", "RST-G", "RST-M", "CART-M", "BendersOCT", "FlowOCT", "BinOCT")
    if title in fixed:
        return COLOURS[fixed.index(title)]
    others = [name for name in titles if name not in fixed]
    # From the end: the first colours are best known as the paper's own methods.
    free = [colour for name, colour in zip(fixed, COLOURS, strict=True) if name not in titles][::-1]
    free = free or list(COLOURS)
    return free[others.index(title) % len(free)]


def win_bars(name: str, instances: pd.DataFrame, metric: str) -> Figure:
    """Return bars a depth: wins dark, ties for best pale above them, as in the paper's Figures 5 to 10."""
    counts = compare.counts(instances)
    titles = list(instances.columns)
    depths = sorted(counts.index.get_level_values("depth").unique())
    figure, axes = _new()
    width = 0.8 / len(titles)
    for place, title in enumerate(titles):
        part = counts.xs(title, level="title").reindex(depths)
        x = np.arange(len(depths)) + (place - (len(titles) - 1) / 2) * width
        colour = colour_of(title, titles)
        axes.bar(x, part["wins"], width * 0.9, color=colour, label=f"{title}: wins")
        axes.bar(
            x, part["ties"], width * 0.9, bottom=part["wins"], color=TIE, edgecolor=colour, linewidth=0.6
        )
        for at, wins, ties in zip(x, part["wins"], part["ties"], strict=True):
            axes.annotate(str(wins + ties), (at, wins + ties), (0, 2), ha="center", fontsize=7, **_POINTS)
    axes.bar([0], [0], color=TIE, label="ties for best")
    for line in np.arange(len(depths) - 1) + 0.5:
        axes.axvline(line, color=TIE, linewidth=0.6)
    axes.set_xticks(np.arange(len(depths)), [f"depth {depth}" for depth in depths])
    axes.set_ylabel("instances")
    axes.set_title(f"{name}: {' against '.join(titles)}, {SAMPLES[metric]}", loc="left")
    figure.legend(loc="outside lower center", ncols=len(titles) + 1)
    return figure


_POINTS: dict[str, Any] = {"textcoords": "offset points"}


def accuracy_by_depth(answers: pd.DataFrame, titles: Sequence[str]) -> Figure:
    """Return train and test accuracy against depth, averaged over datasets."""
    figure, panels = _new(9.0, 3.6, columns=2)
    for axes, metric in zip(panels, SAMPLES, strict=True):
        means = _means_by_depth(answers, titles, metric) * 100
        for place, title in enumerate(titles):
            style = {"marker": MARKERS[place % len(MARKERS)], "markersize": 4, "linewidth": 1.4}
            axes.plot(means.index, means[title], color=colour_of(title, titles), label=title, **style)
        axes.set(xlabel="depth", ylabel="mean accuracy (%)")
        axes.set_title(SAMPLES[metric], loc="left")
        axes.set_xticks(means.index)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(titles))
    return figure


def _means_by_depth(answers: pd.DataFrame, titles: Sequence[str], metric: str) -> pd.DataFrame:
    kept = answers[answers["title"].isin(titles) & answers["depth"].isin(facts.DEPTHS)]
    by_dataset = kept.groupby(["title", "depth", "dataset"])[metric].mean()
    return by_dataset.groupby(["title", "depth"]).mean().unstack("title").reindex(columns=list(titles))


def times_by_depth(answers: pd.DataFrame, titles: Sequence[str]) -> Figure:
    """Return mean fit seconds against depth, log scale, with the paper's Table 4 dashed."""
    figure, axes = _new(7.0, 3.8)
    kept = answers[answers["depth"].isin(facts.DEPTHS)]
    means = kept.pivot_table(index="depth", columns="title", values="seconds")
    for place, title in enumerate(titles):
        marker = MARKERS[place % len(MARKERS)]
        colour = colour_of(title, titles)
        if title in means:
            axes.plot(means.index, means[title], color=colour, marker=marker, markersize=4, label=title)
        paper = [facts.seconds(depth, title) for depth in facts.DEPTHS]
        if paper[0] is not None:
            axes.plot(
                facts.DEPTHS,
                paper,
                color=colour,
                marker=marker,
                markersize=3,
                linestyle="--",
                linewidth=1,
                label=f"{title} (paper)",
            )
    axes.set_yscale("log")
    axes.set(xlabel="depth", ylabel="seconds a fit (mean)")
    axes.set_title("Time by depth: measured here, and the paper's Table 4", loc="left")
    figure.legend(loc="outside right center")
    return figure


def pareto(answers: pd.DataFrame, titles: Sequence[str], cost: str) -> Figure:
    """Return test accuracy against leaves or seconds: a point a method and depth, the front ringed."""
    figure, axes = _new(7.0, 3.8)
    kept = answers[answers["title"].isin(titles) & answers["depth"].isin(facts.DEPTHS)].dropna(subset=cost)
    points = kept.groupby(["title", "depth"])[[cost, "test"]].mean().reset_index()
    titles = [title for title in titles if title in set(points["title"])]
    for place, title in enumerate(titles):
        part = points[points["title"] == title]
        style = {"marker": MARKERS[place % len(MARKERS)], "markersize": 5, "linewidth": 0.8}
        axes.plot(part[cost], part["test"] * 100, color=colour_of(title, titles), label=title, **style)
    front = points[compare.pareto(points[cost].to_numpy(float), points["test"].to_numpy(float))]
    axes.scatter(
        front[cost], front["test"] * 100, s=90, facecolors="none", edgecolors=INK, label="Pareto front"
    )
    axes.set_xscale("log")
    if cost == "leaves":
        _plain_logarithms(axes.xaxis)
    what = {"leaves": "leaves", "seconds": "seconds a fit"}[cost]
    axes.set(xlabel=f"{what} (mean, log scale)", ylabel="test accuracy (%)")
    axes.set_title(f"Accuracy against {what}: a point a depth, 2 to 8", loc="left")
    figure.legend(loc="outside right center")
    return figure


def _plain_logarithms(axis: Any) -> None:
    """Mark 1, 2, 5, 10, 20, ... on a short log axis, as numbers."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


def critical_difference(instances: pd.DataFrame) -> Figure:
    """Return the diagram of mean ranks: methods joined by a bar are not told apart at 5%."""
    found = compare.ranks(instances)
    titles = list(found.mean.index)
    figure, axes = _new(7.5, 1.2 + 0.28 * len(titles))
    low, high = 1, len(titles)
    bars = compare.indistinct(found.mean, found.critical_difference)
    axes.set(xlim=(low - 0.1, high + 0.1), ylim=(-1.0 - (len(titles) + 1) // 2, 1.6 + 0.35 * len(bars)))
    _rank_axis(axes, low, high, found)
    for level, (first, last) in enumerate(bars):
        at = -0.35 - 0.22 * level
        axes.plot([first - 0.03, last + 0.03], [at, at], color=INK, linewidth=3.5, solid_capstyle="butt")
    _rank_labels(axes, found.mean, low, high, -0.5 - 0.22 * len(bars))
    axes.set_ylim(-1.1 - 0.22 * len(bars) - 0.62 * ((len(titles) + 1) // 2), 1.9)
    return figure


def _rank_axis(axes: Any, low: int, high: int, found: compare.Ranks) -> None:
    axes.axis("off")
    axes.plot([low, high], [0, 0], color=INK, linewidth=1)
    for rank in range(low, high + 1):
        axes.plot([rank, rank], [0, 0.18], color=INK, linewidth=1)
        axes.text(rank, 0.28, str(rank), ha="center", va="bottom")
    width = found.critical_difference
    axes.plot([low, low + width], [1.2, 1.2], color=MUTED, linewidth=2)
    axes.text(low + width / 2, 1.3, f"critical difference {width:.2f}", ha="center", va="bottom", color=MUTED)
    axes.text(high, 1.3, f"mean rank over {found.n_datasets} datasets (1 is best)", ha="right", va="bottom")


def _rank_labels(axes: Any, mean: pd.Series, low: int, high: int, top: float) -> None:
    half = (len(mean) + 1) // 2
    for place, (title, rank) in enumerate(mean.items()):
        left = place < half
        row = place if left else len(mean) - 1 - place
        at, edge = top - 0.62 * (row + 0.6), low if left else high
        axes.plot([rank, rank, edge], [0, at, at], color=MUTED, linewidth=0.8)
        text = f"{title}  {rank:.2f}"
        axes.text(edge, at + 0.06, text, ha="left" if left else "right", va="bottom")


def pathology(by_steps: dict[int, pd.DataFrame], depth: int, loss: str) -> Figure:
    """Return train and test accuracy against the lookahead k at one depth; k = depth is the optimal tree."""
    figure, panels = _new(9.0, 3.8, columns=2)
    steps = sorted(by_steps)
    names = [
        f"{step}\n(optimal)" if step == depth else "1\n(greedy)" if step == 1 else str(step) for step in steps
    ]
    for axes, metric in zip(panels, SAMPLES, strict=True):
        means = pd.DataFrame({step: by_steps[step].groupby("dataset")[metric].mean() for step in steps}) * 100
        gain = means.sub(means[steps[0]], axis=0)
        axes.plot(steps, gain.T, color=TIE, linewidth=0.9)
        axes.plot(steps, gain.mean(), color=COLOURS[0 if metric == "train" else 1], marker="o", linewidth=2.2)
        axes.plot([steps[0], steps[-1]], [0, 0], color=INK, linewidth=0.7)
        _label_ends(axes, steps, gain[steps[-1]])
        axes.set_xticks(steps, names)
        axes.set(xlabel="lookahead k", ylabel="points of accuracy gained over k = 1")
        axes.set_title(f"Depth {depth}, {loss}, {SAMPLES[metric]} (bold: mean)", loc="left")
    return figure


def _label_ends(axes: Any, steps: Sequence[int], ends: pd.Series) -> None:
    """Write each line's name beside its end, apart from the others, with a thin line to where it belongs."""
    low, high = axes.get_ylim()
    gap = _LABEL_GAP * (high - low)
    heights = spread(ends.to_numpy(float), gap)
    axes.set_ylim(min(low, heights.min() - gap), max(high, heights.max() + gap))
    last, span = steps[-1], steps[-1] - steps[0]
    axes.set_xlim(steps[0] - 0.06 * span, last + 0.42 * span)
    for name, end, height in zip(ends.index, ends, heights, strict=True):
        axes.plot([last, last + 0.07 * span], [end, height], color=TIE, linewidth=0.5)
        axes.text(last + 0.08 * span, height, str(name), fontsize=6, color=MUTED, va="center")


_LABEL_GAP = 0.042


def spread(heights: npt.NDArray[np.float64], gap: float) -> npt.NDArray[np.float64]:
    """Return heights (n,) moved apart as little as can be, in squares, until each is `gap` from the next."""
    from sklearn.isotonic import isotonic_regression

    order = np.argsort(heights, kind="stable")
    steps = gap * np.arange(len(heights))
    moved = np.empty(len(heights))
    moved[order] = isotonic_regression(heights[order] - steps) + steps
    return moved


def as_svg(figure: Figure, name: str) -> str:
    """Return a figure as SVG text that follows the reader's light or dark mode; ids begin with its name."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": "foretree bench"})
    text = buffer.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    # Several figures stand on one page, where an id may be given once.
    text = re.sub(r'(\bid="|href="#|url\(#)', rf"\1{name}-", text)
    for number, colour in enumerate(_DARK):
        text = text.replace(colour, f"var(--c{number}, {colour})")
    end = text.index(">") + 1
    return f"{text[:end]}<style>{mode_css()}</style>{text[end:]}"


def mode_css() -> str:
    """Return the style that turns the figures' colours dark on a dark screen, never in print."""
    dark = "; ".join(f"--c{number}: {dark}" for number, dark in enumerate(_DARK.values()))
    return f"@media screen and (prefers-color-scheme: dark) {{ svg {{ {dark} }} }}"


def save(figure: Figure, folder: Path, name: str) -> str:
    """Write name.png and name.svg into a folder and return the SVG's text."""
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}.png", dpi=160, metadata={"Software": "foretree bench"})
    text = as_svg(figure, name)
    (folder / f"{name}.svg").write_text(text, encoding="utf-8")
    return text


def named(builders: Mapping[str, Callable[[], Figure]], folder: Path) -> dict[str, str]:
    """Draw every figure into a folder and return their SVG texts by name."""
    return {name: save(build(), folder, name) for name, build in builders.items()}
