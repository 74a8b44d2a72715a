"""Pages with examples print what they say."""

import re
from pathlib import Path

import numpy as np
import pytest

import foretree.constraints

DOCS = Path(__file__).parents[1] / "docs"


def test_the_examples_of_constraints_print_what_the_page_shows(capsys):
    blocks = re.findall(r"```(python|text)\n(.*?)```", (DOCS / "constraints.md").read_text(), re.DOTALL)
    scope = {}
    for language, block in blocks:
        if language == "python":
            exec(block, scope)
        else:
            assert capsys.readouterr().out == block


def test_the_examples_of_formulations_run():
    for solver in ("highspy", "pyscipopt"):
        pytest.importorskip(solver)
    X = np.random.default_rng(0).integers(0, 2, (60, 4))
    scope = {"X": X, "y": X[:, 0] ^ X[:, 1]}
    for block in re.findall(r"```python\n(.*?)```", (DOCS / "mio.md").read_text(), re.DOTALL):
        exec(block, scope)
    assert scope["model"].gap_ == 0


@pytest.mark.parametrize(
    "name", sorted(set(foretree.constraints.__all__) - {"Constraint", "InfeasibleConstraintsError"})
)
def test_the_page_speaks_of_every_constraint(name):
    assert f"`{name}(" in (DOCS / "constraints.md").read_text()


@pytest.mark.parametrize(
    "page",
    sorted(
        path.relative_to(DOCS.parent).as_posix()
        for path in [*DOCS.glob("*.md"), *DOCS.glob("adr/*.md"), DOCS.parent / "README.md"]
    ),
)
def test_nothing_is_left_to_be_filled_in_and_no_link_is_dead(page):
    path = DOCS.parent / page
    text = path.read_text()
    assert "@@" not in text
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (path.parent / target).exists(), target
