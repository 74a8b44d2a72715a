"""What `import foretree` offers, and what it leaves for later."""

import subprocess
import sys

import pytest

import foretree


def test_every_public_name_is_found_and_listed():
    for name in foretree.__all__:
        assert getattr(foretree, name).__name__ == name
        assert name in dir(foretree)


def test_an_unknown_name_is_told_what_there_is():
    with pytest.raises(
        AttributeError, match=r"no attribute .RandomForest.; it offers LookaheadTreeClassifier"
    ):
        foretree.RandomForest  # noqa: B018


def test_the_import_alone_loads_no_library():
    code = "import sys, foretree; print(sorted({'sklearn', 'numba', 'scipy', 'narwhals'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout.strip() == "[]"
