import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import bench_fakes
from foretree import cli
from foretree.bench.store import read_cells

HERE = Path(__file__).parent


@pytest.fixture
def toy(tmp_path):
    path = tmp_path / "toy.csv"
    bench_fakes.table().to_csv(path, index=False)
    return ["--table", str(path), "--target", "class", "--store", str(tmp_path / "cells.sqlite")]


def run(toy, *more):
    return cli.main(["bench", "run", *toy, "--depths", "2-3", "--folds", "1,2", *more])


def test_run_status_export(toy, tmp_path, capsys):
    assert run(toy, "--methods", "fake,cart-g,fake-broken") == 0
    assert "8 ok, 4 failed; the store is" in capsys.readouterr().out.replace(
        "4 failed, 8 ok", "8 ok, 4 failed"
    )
    assert cli.main(["bench", "status", "--store", toy[-1]]) == 0
    assert "4 x Broken: RuntimeError: this one never fits" in capsys.readouterr().out
    for name in ("cells.csv", "cells.parquet", "new/folder/cells.CSV"):
        assert cli.main(["bench", "export", "--store", toy[-1], str(tmp_path / name)]) == 0
    exported = pd.read_csv(tmp_path / "cells.csv", keep_default_na=False)
    assert len(exported) == len(pd.read_parquet(tmp_path / "cells.parquet")) == 12
    assert run(toy, "--methods", "fake") == 0
    assert "nothing was left to do" in capsys.readouterr().out


def test_retry_does_failures_again(toy, capsys):
    run(toy, "--methods", "fake-broken")
    capsys.readouterr()
    assert run(toy, "--methods", "fake-broken", "--retry") == 0
    assert "4 failed" in capsys.readouterr().out


def test_parameters_are_python_values_or_words(toy):
    assert cli._params(["a.b=5", "a.c=gini", "rst-g.d=None"]) == {
        "a": {"b": 5, "c": "gini"},
        "rst-g": {"d": None},
    }
    run(toy, "--methods", "cart-g", "--set", "cart-g.min_samples_leaf=7")
    assert set(read_cells(Path(toy[-1]))["params"]) == {json.dumps({"min_samples_leaf": 7})}


def test_numbers_are_lists_and_ranges():
    assert cli._numbers("2-4,3,8") == (2, 3, 4, 8)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["bench", "status", "--store", "/nowhere/x.sqlite"], "No store at /nowhere/x.sqlite; make one with"),
        (["bench", "export", "--store", "/nowhere/x.sqlite", "a.csv"], "No store at /nowhere/x.sqlite"),
        (["bench", "run", "--methods", "carrt", "--store", "STORE"], "No method is called 'carrt'"),
        (["bench", "run", "--set", "nonsense", "--store", "STORE"], "--set takes METHOD.NAME=VALUE"),
        (
            ["bench", "run", "--methods", "rst-g", "--set", "rst-m.stop=pure", "--store", "STORE"],
            "--set names rst-m, which --methods does not; it has rst-g.",
        ),
        (["bench", "run", "--datasets", "winne", "--store", "STORE"], "No dataset is called 'winne'. Known:"),
        (["bench", "run", "--target", "class", "--store", "STORE"], "--target names a column of --table"),
        (
            ["bench", "run", "--table", "a.csv", "--datasets", "wine", "--store", "STORE"],
            "--table is a dataset of its own; leave out --datasets",
        ),
        (["bench", "run", "--table", "no.csv", "--target", "y", "--store", "STORE"], "No table at no.csv"),
        (["bench", "run", "--table", __file__, "--store", "STORE"], f"{__file__} needs --target"),
        (["bench", "run", "--plugin", "no_such", "--store", "STORE"], "--plugin no_such: No module named"),
        (["bench", "run", "--store", "/dev/null/x.sqlite"], "/dev/null"),
        (["bench", "run", "--store", __file__], f"{__file__} cannot be used as a store: file is not"),
        (
            ["bench", "status", "--store", __file__],
            f"{__file__} cannot be used as a store: file is not a database",
        ),
    ],
)
def test_errors_are_one_sentence(arguments, sentence, tmp_path, capsys):
    given = [str(tmp_path / "x.sqlite") if argument == "STORE" else argument for argument in arguments]
    assert cli.main(given) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"foretree: {sentence}")
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("--depths", "8-2", "'8-2' is no number and no range such as 2-8"),
        ("--depths", "two", "'two' is no number"),
        ("--depths", "0", "numbers begin at 1"),
        ("--folds", "9-11", "there is no fold 11; folds are 1-10"),
        ("--methods", ",", "',' names nothing"),
        ("--time-limit", "-1", "'-1' is not a number of seconds above 0"),
        ("--time-limit", "nan", "'nan' is not a number of seconds above 0"),
        ("--jobs", "0", "'0' is no number of workers"),
    ],
)
def test_options_are_refused_in_words(option, value, sentence, capsys):
    with pytest.raises(SystemExit):
        cli.main(["bench", "run", f"{option}={value}"])
    assert f"argument {option}: " in (text := capsys.readouterr().err)
    assert sentence in text


def test_a_table_named_like_one_of_the_papers_is_refused(tmp_path, capsys):
    path = tmp_path / "wine.csv"
    bench_fakes.table().to_csv(path, index=False)
    store = str(tmp_path / "x.sqlite")
    assert cli.main(["bench", "run", "--table", str(path), "--target", "class", "--store", store]) == 2
    assert f"rename it, or say --datasets wine --data {tmp_path}" in capsys.readouterr().err


def test_nothing_to_run_is_told_apart_from_nothing_left(toy, capsys):
    assert run(toy, "--methods", "fake-absent") == 2
    assert "nothing can be run; the store is" in capsys.readouterr().out
    assert cli.main(["bench", "status", "--store", toy[-1]]) == 0
    assert "has no cells yet" in capsys.readouterr().out


def test_a_plugin_may_lie_in_the_folder_one_is_in(toy, tmp_path, monkeypatch, capsys):
    (tmp_path / "beside_me.py").write_text(
        "from dataclasses import replace\n"
        "from foretree.bench.methods import find, register\n"
        "register(replace(find('cart-g'), name='beside', title='Beside'))\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry not in ("", str(tmp_path))])
    assert run(toy, "--plugin", "beside_me", "--methods", "beside") == 0
    assert "4 ok" in capsys.readouterr().out


def test_an_export_of_unknown_ending_is_refused(toy, capsys):
    run(toy, "--methods", "fake")
    assert cli.main(["bench", "export", "--store", toy[-1], "cells.xlsx"]) == 2
    assert "ends in .csv or .parquet" in capsys.readouterr().err


def test_an_unknown_table_lists_the_known(toy, capsys):
    run(toy, "--methods", "fake")
    assert cli.main(["bench", "tables", "--store", toy[-1], "--only", "Table 9"]) == 2
    assert "No table is called 'Table 9'. There are Table 2, Table 3" in capsys.readouterr().err


def test_tables_and_figures_of_a_users_table(toy, tmp_path, capsys):
    run(toy, "--methods", "cart-g,greedy-g,rst-g,cart-m,rst-m,hybrid")
    out = tmp_path / "out"
    assert cli.main(["bench", "tables", "--store", toy[-1], "--out", str(out), "--format", "md"]) == 0
    assert "| toy |" in (out / "table-3.md").read_text()
    assert cli.main(["bench", "figures", "--store", toy[-1], "--out", str(out / "figures")]) == 0
    assert "figure-5.png" in capsys.readouterr().out


def test_methods_and_datasets_are_listed(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("foretree.bench.datasets.download", lambda *_: False)
    assert cli.main(["bench", "methods"]) == 0
    assert cli.main(["bench", "datasets", "--data", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "fake-absent is skipped: no_such_module is not installed" in out
    assert "put adult.csv (48842 rows" in out
    assert "shipped with scikit-learn" in out


def start(toy, *more):
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    arguments = [sys.executable, "-m", "foretree", "bench", "run", *toy, *more]
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    return subprocess.Popen(arguments, **streams, text=True, env=environment, start_new_session=True)


def test_a_kill_of_all_workers_loses_at_most_the_cells_in_flight(toy):
    process = start(
        toy, "--methods", "cart-g,fake", "--plugin", "bench_fakes", "--jobs", "2", "--depths", "2-40"
    )
    while not count(toy):
        assert process.poll() is None, process.stderr.read()
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    cells = read_cells(Path(toy[-1]))
    assert 0 < len(cells) < 780
    assert set(cells["status"]) == {"ok"}
    assert run(toy, "--methods", "cart-g") == 0
    after = read_cells(Path(toy[-1]))
    kept = after.merge(cells, on=["method", "depth", "fold", "finished"])
    assert len(kept) == len(cells), "what was stored is not done again"
    assert len(after[(after["method"] == "cart-g") & (after["depth"] <= 3) & (after["fold"] <= 2)]) == 4


def count(toy):
    try:
        return len(read_cells(Path(toy[-1])))
    except ValueError:  # the tables are not there yet
        return 0
