"""Where the 19 tables and the authors' sheet are, for the tests that need them."""

import os
from pathlib import Path

import pandas as pd
import pytest

from foretree.bench import facts


def folder() -> Path:
    """Return the folder of the tables, which may not exist."""
    value = os.environ.get("FORETREE_DATA")
    return Path(value) if value else Path(__file__).parents[2] / "shared" / "data"


def table_or_skip(name: str) -> Path:
    """Return the folder that holds a dataset, or skip the test."""
    if not (folder() / f"{name}.csv").is_file():
        pytest.skip(f"{name}.csv is not in {folder()}; name its folder with FORETREE_DATA")
    return folder()


def sheet_or_skip() -> pd.DataFrame:
    """Return the authors' per-fold sheet, or skip the test."""
    sheet = facts.read_sheet(folder())
    if sheet is None:
        pytest.skip(f"{facts.SHEET_NAME} is not in {folder()}; name its folder with FORETREE_DATA")
    return sheet
