"""Pages with examples print what they say."""

import re
from pathlib import Path

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


@pytest.mark.parametrize(
    "name", sorted(set(foretree.constraints.__all__) - {"Constraint", "InfeasibleConstraintsError"})
)
def test_the_page_speaks_of_every_constraint(name):
    assert f"`{name}(" in (DOCS / "constraints.md").read_text()
