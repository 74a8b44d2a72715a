"""Growing under constraints, and by other solvers: which way a tree is grown, and whether it keeps every wish."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from foretree._kernels.descend import descend_words
from foretree.constraints.place import Columns, Finished, Floats, Name, read_columns
from foretree.constraints.reading import (
    InfeasibleConstraintsError,
    PathMasks,
    Wishes,
    check_constraints,
    faults_of,
    read_wishes,
)  # fmt: skip
from foretree.constraints.sensitive import Grouping, read_grouping
from foretree.counts import MemoryRows
from foretree.encode import PackedRows
from foretree.gap import count_kinds
from foretree.groups import GroupedRows, group_rows
from foretree.grow import Grown, GrowthPlan, grow, grow_in_time, grow_rows
from foretree.look import CountsLooker, KernelLooker, Solver
from foretree.losses import HYBRID, LOSSES, Loss
from foretree.mio.pairs import pair_solver
from foretree.solve import best_pair
from foretree.targets import Target
from foretree.together import Task, grain_of, grow_together
from foretree.tree import LEAF, Tree

__all__ = ["Wanted", "grow_constrained", "read_columns", "read_grouping"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an estimator asks for beyond a loss and a plan, as its user gave it, and the rows as it grouped them.

    `grouping_of` answers which group each row is in, by a sensitive attribute's name.
    """

    grouped: GroupedRows
    constraints: Any
    solver: str
    loss: Any
    columns: Columns
    grouping_of: Callable[[Name | None], Grouping]
    n_jobs: int | None = None


def grow_constrained(rows: PackedRows, target: Target, loss: Loss, plan: GrowthPlan, wanted: Wanted) -> Grown:
    """Grow a tree under constraints, or with nodes solved by a linear or mixed-integer program."""
    constraints = check_constraints(wanted.constraints)
    if wanted.solver != "closed" and plan.lookahead > 2:
        raise ValueError(
            f"solver={wanted.solver!r} solves nodes of one or two steps ([OCT-2]), but lookahead is {plan.lookahead}; "
            "choose lookahead=2, or solver='closed' to look further."
        )
    if not constraints:
        memory = MemoryRows(wanted.grouped)
        return grow(CountsLooker(memory, loss, plan.limits, plan.tie_by_gini, _solver_of(wanted)), plan)
    wishes = read_wishes(
        constraints,
        wanted.columns,
        target.classes.tolist(),
        target.codes,
        target.row_weights,
        wanted.grouping_of,
    )
    if wishes.couplings and isinstance(wanted.loss, str) and wanted.loss == HYBRID:
        loss = LOSSES["misclassification"]
    if wishes.couple_nodes:
        _refuse_what_is_grown_node_by_node(wishes, loss, plan)
    return _grow_under(rows, target, wishes, (loss, plan), wanted)


def _solver_of(wanted: Wanted) -> Solver:
    return best_pair if wanted.solver == "closed" else pair_solver("highs", wanted.solver == "lp")


def _refuse_what_is_grown_node_by_node(wishes: Wishes, loss: Loss, plan: GrowthPlan) -> None:
    """Say which parameters have no meaning where a level's nodes are solved together."""
    names = ", ".join(type(wish).__name__ for wish in wishes.constraints if wish.couples(wishes.columns))
    if wishes.couplings and loss.name not in ("misclassification", "cost matrix"):
        raise ValueError(
            f"{names} makes the classes of leaves a choice, of which the loss {loss.name!r} knows nothing; choose "
            "'misclassification', 'hybrid' (here the same) or a cost matrix."
        )
    if plan.lookahead > 2:
        raise ValueError(
            f"{names} couples nodes, which are then solved two steps at a time, but lookahead is {plan.lookahead}; "
            "choose lookahead=2 or 1."
        )
    clashes = {
        "max_leaf_nodes": plan.max_leaves is not None,
        "stop='no_gain'": plan.stop_without_gain,
        "min_loss_decrease": plan.min_decrease > 0,
    }
    for name, clash in clashes.items():
        if clash:
            raise ValueError(
                f"{names} couples nodes, which then grow level by level; {name} judges nodes one by one. Drop one "
                "of the two, and limit the tree by max_depth or min_samples_leaf."
            )


def _grow_under(
    rows: PackedRows, target: Target, wishes: Wishes, aim: tuple[Loss, GrowthPlan], wanted: Wanted
) -> Grown:
    """Grow a tree that keeps all wishes, or say which one it misses and how far.

    A tree that keeps them unasked is the answer. Else, where wishes couple nodes, each level is solved at once.
    """
    loss, plan = aim
    began = perf_counter()
    grouped = wanted.grouped
    memory = MemoryRows(grouped)
    masks = PathMasks(wishes, lambda path: memory.total(path)[0]) if wishes.mask_nodes else None
    if wanted.solver != "closed" or (masks is not None and loss.code is None):
        looker = CountsLooker(memory, loss, plan.limits, plan.tie_by_gini, _solver_of(wanted), masks)
        grown = grow_in_time(looker, plan)
    elif masks is not None:
        fenced = KernelLooker(grouped, loss, plan.limits, plan.tie_by_gini, masks)
        grown = grow_in_time(fenced, plan, partial(count_kinds, grouped, loss))
    else:
        grown = grow_rows(grouped, loss, plan, wanted.n_jobs)
    faults = _faults(rows, target, wishes, _saying(grown.tree, loss))
    if faults and wishes.couple_nodes:
        left = None if plan.seconds is None else max(plan.seconds - (perf_counter() - began), 0.0)
        grown = grow_together(
            _task(rows, target, wishes, loss, plan), replace(plan, seconds=left), wanted.solver
        )
        faults = _faults(rows, target, wishes, _saying(grown.tree, loss))
    if faults:
        raise InfeasibleConstraintsError(
            f"The best tree found does not keep the constraints on the training rows. {' '.join(faults)} Relax the "
            "constraint, or allow the tree more: a larger max_depth, smaller minimum sizes, more columns, more time."
        )
    return grown


def _saying(tree: Tree, loss: Loss) -> Tree:
    """Return the tree with what its leaves say where classes are priced."""
    return (
        tree
        if loss.prices is None or tree.decided is not None
        else replace(tree, decided=loss.says(tree.voices))
    )


def _task(rows: PackedRows, target: Target, wishes: Wishes, loss: Loss, plan: GrowthPlan) -> Task:
    """Return what is grown level by level: rows counted by (group, class), class weights in the prices of leaves."""
    n_classes = target.factors.size
    codes = wishes.groups * n_classes + target.codes
    ones = np.ones(wishes.n_groups * n_classes)
    memory = MemoryRows(group_rows(rows.words, rows.n_splits, codes, ones, target.row_weights))
    prices = None
    if wishes.couplings:
        table = 1.0 - np.eye(n_classes) if loss.prices is None else loss.prices
        prices = target.factors[:, None] * table
    weights = np.ones(1) if target.row_weights is None else target.row_weights
    grain = grain_of(weights) * grain_of(target.factors[:, None] if prices is None else prices)
    known = prices is not None or loss is LOSSES["misclassification"]
    return Task(
        memory,
        _as_counted(wishes, target, memory.total(())[0]),
        loss,
        target.factors,
        prices,
        plan.limits,
        PathMasks(wishes, lambda path: memory.total(path)[0]),
        grain if known else 0.0,
        float((target.factors[target.codes] * weights).sum()),
    )


def _as_counted(wishes: Wishes, target: Target, counted: Floats) -> Wishes:
    """Return the wishes in the weights that groups count: fractions keep 30 digits, which no exact gap survives."""
    if target.row_weights is None or not wishes.couplings:
        return wishes
    totals = np.zeros((wishes.n_groups, target.factors.size))
    np.add.at(totals, (wishes.groups, target.codes), target.row_weights)
    counted = counted.reshape(totals.shape)
    factors = np.divide(totals, counted, out=np.ones_like(totals), where=counted > 0)[..., None]
    couplings = tuple(replace(c, coefficients=c.coefficients * factors) for c in wishes.couplings)
    return replace(wishes, couplings=couplings)


def _faults(rows: PackedRows, target: Target, wishes: Wishes, tree: Tree) -> list[str]:
    """Return what a tree does not keep, its leaves counted row by row."""
    leaf_of_row = np.empty(len(rows.words), np.int64)
    descend_words(rows.words, tree.split, tree.low, tree.high, leaf_of_row)
    n_classes = target.factors.size
    counts = np.zeros((tree.n_nodes, wishes.n_groups, n_classes))
    weights = 1.0 if target.row_weights is None else target.row_weights
    np.add.at(counts, (leaf_of_row, wishes.groups, target.codes), weights)
    leaves = np.flatnonzero(tree.is_leaf)
    finished = Finished(wishes.columns, _paths(tree), tree.weights[leaves])
    return faults_of(wishes, finished, counts[leaves], tree.classes[leaves])


def _paths(tree: Tree) -> tuple[tuple[tuple[int, int], ...], ...]:
    """Return the splits and answers on the way to each leaf, in the order of the leaves."""
    paths: dict[int, tuple[tuple[int, int], ...]] = {0: ()}
    # Preorder: a parent stands before its children.
    for node in np.flatnonzero(tree.split != LEAF).tolist():
        for answer, child in enumerate((int(tree.low[node]), int(tree.high[node]))):
            paths[child] = (*paths[node], (int(tree.split[node]), answer))
    return tuple(paths[leaf] for leaf in np.flatnonzero(tree.is_leaf).tolist())
