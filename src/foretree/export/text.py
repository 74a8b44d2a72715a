"""A fitted tree as indented text."""

from sklearn.utils.validation import check_is_fitted

from foretree.estimators import LookaheadTreeClassifier
from foretree.tree import LEAF, Tree, simplify


def export_text(model: LookaheadTreeClassifier, merge: bool = True) -> str:
    """Return the tree as text, a line a branch, with the class, rows and class share of each leaf.

    With `merge`, sibling leaves that say the same class are shown as one; no prediction differs.
    """
    check_is_fitted(model)
    tree = simplify(model.tree_) if merge else model.tree_
    lines: list[str] = []
    waiting = [(0, 1, ""), (0, 0, "")] if tree.split[0] != LEAF else []
    if not waiting:
        return _leaf_text(model, tree, 0)
    waiting.reverse()
    while waiting:
        node, answer, indent = waiting.pop()
        split = model.splits_[tree.split[node]]
        child = int(tree.high[node] if answer else tree.low[node])
        question = str(split) if answer else split.negated
        if tree.split[child] == LEAF:
            lines.append(f"{indent}{question}: {_leaf_text(model, tree, child)}")
        else:
            lines.append(f"{indent}{question}")
            waiting += [(child, 0, indent + "|   "), (child, 1, indent + "|   ")]
    return "\n".join(lines)


def _leaf_text(model: LookaheadTreeClassifier, tree: Tree, node: int) -> str:
    number = int(tree.classes[node])
    share = 100 * float(tree.probabilities[node, number])
    rows = int(tree.rows[node])
    return f"{model.classes_[number]} ({rows} row{'' if rows == 1 else 's'}, {share:.3g} %)"
