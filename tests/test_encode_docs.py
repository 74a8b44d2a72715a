"""The page on encoding prints what it says."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "encoding.md"


def test_the_examples_print_what_the_page_shows(capsys):
    blocks = re.findall(r"```(python|text)\n(.*?)```", PAGE.read_text(), re.DOTALL)
    scope = {}
    shown = printed = ""
    for language, block in blocks:
        if language == "python":
            exec(block, scope)
            printed += capsys.readouterr().out
        else:
            shown += block
    first_row = f"{scope['unpack'](scope['rows'])[0]}\n"
    assert first_row in shown
    assert printed == shown.replace(first_row, "", 1)


@pytest.mark.parametrize(
    "word", ["NoSplitError", "min_category_size", "max_bins", 'missing="mode"', "sample_weight"]
)
def test_the_page_speaks_of_every_choice(word):
    assert word in PAGE.read_text()
