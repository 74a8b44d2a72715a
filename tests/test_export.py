"""Trees as text, in the words of the table."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from foretree import LookaheadTreeClassifier, export_text

# Whoever is over 40 and in town says yes, whoever is neither says no, the others mostly say no.
PEOPLE = pd.DataFrame(
    {
        "age": [20, 20, 60, 60] * 5,
        "place": ["town", "land", "town", "land"] * 5,
    }
)
SAID = np.array(["no", "no", "yes", "no"] * 5)


def test_yes_comes_first_and_leaves_say_class_rows_and_share():
    tree = LookaheadTreeClassifier(max_depth=2).fit(PEOPLE, SAID)
    assert export_text(tree).splitlines() == [
        "age <= 40: no (10 rows, 100 %)",
        "age > 40",
        "|   place = town: yes (5 rows, 100 %)",
        "|   place != town: no (5 rows, 100 %)",
    ]


def test_siblings_of_one_class_are_one_line_unless_asked_otherwise():
    # The deeper question parts 9 from 10 sure rows, and both sides say 1.
    x = np.array([[0, 0]] * 10 + [[1, 0]] * 10 + [[1, 1]] * 9)
    y = np.array([0] * 10 + [1] * 8 + [0] * 2 + [1] * 9)
    tree = LookaheadTreeClassifier(max_depth=2).fit(x, y)
    merged, whole = export_text(tree), export_text(tree, merge=False)
    assert merged.splitlines() == ["x0 = 1: 1 (19 rows, 89.5 %)", "x0 = 0: 0 (10 rows, 100 %)"]
    assert whole.splitlines() == [
        "x0 = 1",
        "|   x1 = 1: 1 (9 rows, 100 %)",
        "|   x1 = 0: 1 (10 rows, 80 %)",
        "x0 = 0: 0 (10 rows, 100 %)",
    ]


def test_a_tree_of_one_leaf_is_one_line():
    x = np.array([[0], [1], [0], [1]])
    tree = LookaheadTreeClassifier(max_depth=1, stop="no_gain").fit(x, [0, 0, 1, 1])
    assert export_text(tree) == "0 (4 rows, 50 %)"


def test_an_unfitted_tree_says_so():
    with pytest.raises(NotFittedError, match="not fitted yet"):
        export_text(LookaheadTreeClassifier())
