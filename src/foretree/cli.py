"""The command line: parse, call, print."""

from __future__ import annotations

import argparse
import ast
import os
import sqlite3
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

_DEFAULT_STORE = Path("foretree-bench") / "store.sqlite"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `foretree ...` and return the exit code; an error is one sentence, not a traceback."""
    options = _parser().parse_args(arguments)
    call: Callable[[argparse.Namespace], int] = options.call
    try:
        return call(options)
    except BrokenPipeError:
        # The reader (head, less) left; Python would complain again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (LookupError, ValueError, OSError, ModuleNotFoundError, sqlite3.DatabaseError) as error:
        print(f"foretree: {_sentence(error)}", file=sys.stderr)
        return 2


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    # A LookupError prints its text in quotes; the text itself is wanted.
    return str(error.args[0] if isinstance(error, LookupError) and error.args else error)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="foretree", description="Classification trees that look ahead.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    bench = commands.add_parser("bench", help="the paper's study: run it, read it")
    actions = bench.add_subparsers(required=True, metavar="ACTION")
    _add_run(actions)
    _add(actions, "status", _status, "what is done, and what failed for what reason")
    _add(actions, "methods", _methods, "the methods by name, and which cannot run here")
    _add(
        actions,
        "datasets",
        _datasets,
        "the datasets by name, and where each is found (nothing is downloaded)",
    )
    tables = _add(actions, "tables", _tables, "the paper's tables, ours beside them")
    tables.add_argument("--format", choices=["txt", "md", "csv", "html", "tex"], default="txt")
    tables.add_argument("--only", metavar="NAME", help="one table, such as 'Table 3' or 'Table C.2'")
    tables.add_argument("--out", type=Path, metavar="DIR", help="write files instead of printing")
    for name, call, text in (
        ("figures", _figures, "draw the figures"),
        ("report", _report, "write the page"),
    ):
        _add(actions, name, call, text).add_argument(
            "--out", type=Path, default=Path("foretree-bench/report"), metavar="DIR"
        )
    export = _add(actions, "export", _export, "every cell as CSV or Parquet")
    export.add_argument("file", type=Path, help="ends in .csv or .parquet")
    return parser


def _add(actions: Any, name: str, call: Callable[..., int], text: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(name, help=text, description=text)
    parser.add_argument("--store", type=Path, default=_DEFAULT_STORE, metavar="FILE")
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="folder of the datasets (else FORETREE_DATA)"
    )
    parser.set_defaults(call=call)
    return parser


def _add_run(actions: Any) -> None:
    parser = _add(actions, "run", _run, "do the cells that the store lacks")
    parser.add_argument("--methods", type=_names, metavar="A,B", help="names (default: the paper's)")
    parser.add_argument("--datasets", type=_names, metavar="A,B", help="names (default: all 19)")
    parser.add_argument("--table", type=Path, metavar="FILE", help="a CSV or Parquet table of your own")
    parser.add_argument("--target", metavar="COLUMN", help="the column of --table to predict")
    parser.add_argument("--depths", type=_numbers, metavar="2-8", help="such as 2-8 or 2,4 (default: 2-8)")
    parser.add_argument("--folds", type=_folds, metavar="1-10", help="default: 1-10")
    parser.add_argument("--set", action="append", default=[], metavar="METHOD.NAME=VALUE", dest="params")
    parser.add_argument(
        "--time-limit",
        type=_positive,
        default=60.0,
        metavar="SECONDS",
        help="a fit, for methods that search (default: 60; the paper: 1800)",
    )
    parser.add_argument("--jobs", type=_workers, default=1, metavar="N", help="cells at a time (default: 1)")
    parser.add_argument("--backend", choices=["loky", "threading", "dask", "ray"], help="a joblib backend")
    parser.add_argument("--plugin", action="append", default=[], metavar="MODULE", help="registers methods")
    parser.add_argument("--retry", action="store_true", help="do again what failed or ran out of time")


def _names(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not names:
        raise argparse.ArgumentTypeError(f"{text!r} names nothing; name one or more, such as rst-g,cart-g")
    return names


def _numbers(text: str) -> tuple[int, ...]:
    numbers: list[int] = []
    for part in _names(text):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or not (last.isdecimal() or not dash) or int(first) > int(last or first):
            raise argparse.ArgumentTypeError(f"{part!r} is no number and no range such as 2-8")
        numbers += range(int(first), int(last or first) + 1)
    if min(numbers) < 1:
        raise argparse.ArgumentTypeError("0 is too small; numbers begin at 1")
    return tuple(dict.fromkeys(numbers))


def _folds(text: str) -> tuple[int, ...]:
    from foretree.bench.facts import N_FOLDS

    folds = _numbers(text)
    if max(folds) > N_FOLDS:
        raise argparse.ArgumentTypeError(f"there is no fold {max(folds)}; folds are 1-{N_FOLDS}")
    return folds


def _reader(read: Callable[[str], float], fits: Callable[[float], bool], complaint: str) -> Any:
    """Return what reads an option's number, or says of the text what is wrong with it."""

    def parse(text: str) -> float:
        try:
            value = read(text)
        except ValueError:
            value = 0
        if not fits(value):
            raise argparse.ArgumentTypeError(f"{text!r} {complaint}")
        return value

    return parse


_positive = _reader(float, lambda value: 0 < value < float("inf"), "is not a number of seconds above 0")
_workers = _reader(int, bool, "is no number of workers; -1 stands for every core")


def _params(settings: Sequence[str]) -> dict[str, dict[str, Any]]:
    params: dict[str, dict[str, Any]] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        method, dot, parameter = name.rpartition(".")
        if not equals or not dot:
            raise ValueError(
                f"--set takes METHOD.NAME=VALUE, such as rst-g.min_samples_leaf=5; not {setting!r}."
            )
        params.setdefault(method, {})[parameter] = _value(value)
    return params


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _check_choices(options: argparse.Namespace) -> None:
    """Refuse what would otherwise be passed over in silence."""
    from foretree.bench import datasets, methods

    if options.table is None and options.target is not None:
        raise ValueError("--target names a column of --table; add --table FILE.")
    if options.table is not None and options.datasets:
        raise ValueError("--table is a dataset of its own; leave out --datasets.")
    if options.table is not None:
        datasets.check_table(options.table, options.target)
    for name in options.datasets or ():
        datasets.known(name)
    methods.load_plugins(tuple(options.plugin))
    chosen = options.methods or methods.PAPER
    for name in chosen:
        methods.find(name)
    stray = [name for name in _params(options.params) if name not in chosen]
    if stray:
        raise ValueError(
            f"--set names {', '.join(stray)}, which --methods does not; it has {', '.join(chosen)}."
        )


def _study(options: argparse.Namespace) -> Any:
    from foretree.bench import facts, methods
    from foretree.bench.datasets import Source
    from foretree.bench.run import Study

    _check_choices(options)
    if options.table is not None:
        sources: tuple[Source, ...] = (Source(options.table.stem, None, options.table, options.target),)
    else:
        sources = tuple(Source(name, options.data) for name in options.datasets or facts.datasets())
    return Study(
        sources,
        options.methods or methods.PAPER,
        options.depths or facts.DEPTHS,
        options.folds or tuple(range(1, facts.N_FOLDS + 1)),
        _params(options.params),
        options.time_limit,
        tuple(options.plugin),
    )


def _run(options: argparse.Namespace) -> int:
    from foretree.bench import run
    from foretree.bench.store import Store

    study = _study(options)
    store = Store(options.store)
    try:
        summary = run.run(study, store, run.Workers(options.jobs, options.backend), retry=options.retry)
    finally:
        store.close()
    for note in summary.notes:
        print(note)
    nothing = "nothing was left to do" if summary.n_cells else "nothing can be run"
    counted = ", ".join(f"{count} {status}" for status, count in summary.counts.items()) or nothing
    print(f"{counted}; the store is {options.store}")
    if summary.held_elsewhere:
        print(f"{summary.held_elsewhere} cells are being done by another process.")
    return 130 if summary.stopped else 0 if summary.n_cells else 2


def _status(options: argparse.Namespace) -> int:
    from foretree.bench import study

    findings = study.gather(options.store, options.data)
    if findings.cells.empty:
        print(f"{options.store} has no cells yet.")
        return 0
    counts = findings.cells.groupby(["title", "status"]).size().unstack(fill_value=0)
    print(counts.to_string())
    bad = findings.cells[findings.cells["reason"] != ""]
    for (title, reason), count in bad.groupby(["title", "reason"]).size().items():
        print(f"{count} x {title}: {' '.join(str(reason).split())}")
    return 0


def _methods(_options: argparse.Namespace) -> int:
    from foretree.bench import methods

    for method in methods.METHODS.values():
        print(f"{method.name:18} {method.title:28} {method.why_missing() or method.code_version()}")
    return 0


def _datasets(options: argparse.Namespace) -> int:
    from foretree.bench import datasets, facts

    for name in facts.datasets():
        try:
            origin = datasets.load(datasets.Source(name, options.data, network=False)).origin
        except datasets.DatasetMissingError as error:
            on_openml = datasets.known(name).openml is not None
            origin = f"{error} `bench run` tries OpenML first." if on_openml else str(error)
        except ValueError as error:
            origin = str(error)
        print(f"{name:24} {origin}")
    return 0


def _tables(options: argparse.Namespace) -> int:
    from foretree.bench import layout, report, study

    found = study.all_tables(study.gather(options.store, options.data))
    if options.only is not None:
        names = ", ".join(table.name for table in found)
        found = [table for table in found if table.name.lower() == options.only.lower()]
        if not found:
            raise LookupError(f"No table is called {options.only!r}. There are {names}.")
    if options.out is not None:
        report.write_tables(found, options.out, [options.format])
        return 0
    for table in found:
        print(layout.WRITERS[options.format](table))
    return 0


def _figures(options: argparse.Namespace) -> int:
    from foretree.bench import figures, questions, study

    for section in questions.sections(study.gather(options.store, options.data)):
        for name in figures.named(section.figures, options.out):
            print(options.out / f"{name}.png")
    return 0


def _report(options: argparse.Namespace) -> int:
    from foretree.bench import report, study

    print(report.write(study.gather(options.store, options.data), options.out))
    return 0


def _export(options: argparse.Namespace) -> int:
    from foretree.bench import results

    results.export(options.store, options.file)
    print(options.file)
    return 0
