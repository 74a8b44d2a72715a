"""Open nodes solved together when the columns asked in the whole tree cost something: branch and bound on columns.

Fewer columns to ask about never make the best trees cheaper. So what all columns can do bounds what some can;
where the best trees ask for more than can be paid, one column they ask about is either paid for, or not asked.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter

import numpy as np

from foretree.constraints.place import Budget, Mask
from foretree.mio.blocks import ROUNDING, Integers, LabelledPlan, Together

# Solves the blocks with these splits of theirs (a mask (p,) for each), never worse than the plans known.
Solve = Callable[[Sequence[Mask]], Together]


def within_budgets(
    columns: Sequence[Integers],
    budgets: Sequence[Budget],
    paid: frozenset[int],
    solve: Solve,
    deadline: float = np.inf,
    known: Together | None = None,
) -> Together:
    """Return the best plans, none worse than the `known`, whose columns with those `paid` stay within the budgets.

    columns[b] (p,) are the columns of block b's splits.
    """
    every = frozenset(int(column) for of_block in columns for column in of_block)
    best = known
    bound = np.inf
    waiting = [(paid, every | paid)]
    while waiting:
        sure, open_columns = waiting.pop()
        may = frozenset(c for c in open_columns if c in sure or all(b.allows(sure | {c}) for b in budgets))
        found = solve([np.isin(of_block, list(may)) for of_block in columns])
        if best is not None and _merit(found, found.bound) >= _merit(best, best.cost - ROUNDING * best.cost):
            continue
        asked = sure | asked_columns(found.plans, columns)
        if all(budget.allows(asked) for budget in budgets):
            if best is None or _merit(found, found.cost) < _merit(best, best.cost):
                best = found
            bound = min(bound, found.bound)
            continue
        if perf_counter() > deadline and best is not None:
            bound = min(bound, found.bound)
            continue
        # The column most often asked decides most; paying for it is tried first, since popped first.
        column = _most_asked(found.plans, columns, asked - sure)
        waiting += [(sure, may - {column}), (sure | {column}, may)]
    assert best is not None  # what is paid already is always within the budgets
    return replace(best, bound=min(bound, best.cost))


def _merit(found: Together, cost: float) -> tuple[float, float]:
    missed = sum(found.excess)
    return (0.0 if missed <= ROUNDING else missed, cost)


def asked_columns(plans: Sequence[LabelledPlan], columns: Sequence[Integers]) -> frozenset[int]:
    """Return the columns that plans ask about."""
    return frozenset(column for asked in _asked(plans, columns) for column in asked)


def _asked(plans: Sequence[LabelledPlan], columns: Sequence[Integers]) -> list[set[int]]:
    return [
        set()
        if plan.plan is None
        else {int(of_block[split]) for split in (plan.plan.root, plan.plan.low, plan.plan.high)}
        for plan, of_block in zip(plans, columns, strict=True)
    ]


def _most_asked(plans: Sequence[LabelledPlan], columns: Sequence[Integers], among: frozenset[int]) -> int:
    asked = _asked(plans, columns)
    return max(sorted(among), key=lambda column: sum(column in one for one in asked))
