"""One offline HTML page with every table and figure, the machine, the versions and the command."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path

from foretree.bench import figures, layout, questions
from foretree.bench.store import ANSWERED, STATUSES
from foretree.bench.study import Findings, all_tables

TITLE = "Rolling lookahead trees: the paper's study on one machine"

_CSS = """
:root { color-scheme: light dark; --ink: #1b1b1f; --muted: #5d5d68; --page: #ffffff; --line: #d9dae0;
  --band: #f4f4f7; --link: #0060a0; }
@media screen and (prefers-color-scheme: dark) { :root { --ink: #e8e8ee; --muted: #a0a0ad; --page: #17171c;
  --line: #3a3b45; --band: #202027; --link: #7cc4f2; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; max-width: 66rem; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0.5rem 0; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 0.5rem; border-top: 1px solid var(--line); padding-top: 1rem; }
p { max-width: 46rem; margin: 0.5rem 0; }
a { color: var(--link); }
nav { columns: 15rem; margin: 1rem 0; }
nav a { display: block; break-inside: avoid; }
figure { margin: 1.2rem 0; }
figure svg { max-width: 100%; height: auto; }
figcaption { margin-bottom: 0.4rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: 0.15rem 0.5rem; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: var(--page); }
thead th { border-bottom: 1px solid var(--line); font-weight: 600; }
thead th[colspan] { text-align: center; }
tbody tr:nth-child(even) td { background: var(--band); }
td.best { font-weight: 700; }
td.side, .note { color: var(--muted); }
.note { font-size: 13px; }
code { overflow-wrap: anywhere; background: var(--band); padding: 0 0.25rem; }
details { margin: 0.8rem 0; }
summary { cursor: pointer; font-weight: 600; }
@media print { body { max-width: none; font-size: 10px; } table { font-size: 7px; } th, td { padding: 1px 3px;
  } .scroll { overflow: visible; } figure { break-inside: avoid; } nav { display: none; } }
"""


def write(findings: Findings, folder: Path) -> Path:
    """Write the page, its figures (PNG, SVG) and its tables (CSV, Markdown, LaTeX) into a folder."""
    found = questions.sections(findings)
    drawn: dict[str, str] = {}
    for section in found:
        drawn.update(figures.named(section.figures, folder / "figures"))
    tables = all_tables(findings)
    write_tables([*tables, *(table for section in found for table in section.tables)], folder / "tables")
    page = folder / "index.html"
    page.write_text(_page(findings, found, drawn, tables), encoding="utf-8")
    return page


def write_tables(
    tables: Iterable[layout.Table], folder: Path, kinds: Iterable[str] = ("csv", "md", "tex")
) -> None:
    """Write each table in each format into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for table in tables:
        for kind in kinds:
            (folder / f"{layout.anchor(table)}.{kind}").write_text(
                layout.WRITERS[kind](table), encoding="utf-8"
            )


def _page(
    findings: Findings, found: list[questions.Section], drawn: dict[str, str], tables: list[layout.Table]
) -> str:
    links = "".join(f'<a href="#{section.anchor}">{escape(section.title)}</a>' for section in found)
    body = "".join(_section(section, drawn) for section in found)
    own = {table.name for section in found for table in section.tables}
    shown = [table for table in tables if table.name not in own]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{TITLE}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_CSS}</style></head><body><h1>{TITLE}</h1>{_lead(findings)}"
        f'<nav>{links}<a href="#tables">All tables</a><a href="#made">How this page was made</a></nav>'
        f'{body}<h2 id="tables">All tables, ours beside the paper</h2>{_tables(shown)}{_made(findings)}'
        "</body></html>\n"
    )


def _lead(findings: Findings) -> str:
    on_grid = findings.ours["dataset"].nunique()
    parts = [
        title if count == on_grid else f"{title} (on {count} of {on_grid} datasets)"
        for title, count in findings.borrowed.items()
    ]
    borrowed = ", ".join(parts) or "none"
    return (
        "<p>Organ, Kay&#305;&#351; and Khaniyev compare rolling lookahead trees with CART and with optimal "
        "trees over 19 datasets, 10 folds and depths 2 to 8. This page remakes that study with foretree: "
        f"{len(findings.cells):,} cells over {on_grid} datasets. Answers taken from the authors' own "
        f"per-fold sheet: {escape(borrowed)}.</p>"
    )


def _section(section: questions.Section, drawn: dict[str, str]) -> str:
    texts = "".join(f"<p>{escape(text)}</p>" for text in section.paragraphs)
    pictures = "".join(
        f'<figure id="{name}"><div class=scroll>{drawn[name]}</div></figure>' for name in section.figures
    )
    tables = "".join(map(layout.as_html, section.tables))
    return (
        f'<section><h2 id="{section.anchor}">{escape(section.title)}</h2>{texts}{tables}{pictures}</section>'
    )


def _tables(tables: list[layout.Table]) -> str:
    opened = [layout.as_html(table) for table in tables if "C." not in table.name]
    folded = [
        f"<details><summary>{escape(table.name)}. {escape(table.title)}</summary>"
        f"{layout.as_html(table)}</details>"
        for table in tables
        if "C." in table.name
    ]
    return "".join([*opened, *folded])


def _made(findings: Findings) -> str:
    counts = findings.cells["status"].value_counts()
    listed = "; ".join(f"{count:,} {status} ({STATUSES.get(status, '')})" for status, count in counts.items())
    codes = ", ".join(sorted(findings.cells["code_version"].unique()))
    machines = "".join(_machine(machine) for machine in findings.machines())
    return (
        f'<h2 id="made">How this page was made</h2><p>Cells: {escape(listed)}.</p>{_failures(findings)}'
        f"<p>Code: {escape(codes)}.</p>{machines}"
        "<p>Only <code>fit</code> is timed, with one thread a cell, after untimed fits of 256 rows in each "
        "process that load compiled code; peak memory is the growth of resident memory during <code>fit</code>.</p>"
    )


def _failures(findings: Findings) -> str:
    bad = findings.cells[~findings.cells["status"].isin(ANSWERED)]
    if bad.empty:
        return ""
    grouped = bad.groupby(["title", "status", "reason"]).size().sort_values(ascending=False)
    items = "".join(
        f"<li>{count:,} x {escape(str(title))}, {escape(str(status))}: {escape(str(reason))}</li>"
        for (title, status, reason), count in grouped.head(20).items()
    )
    return f"<details><summary>Cells without an answer</summary><ul>{items}</ul></details>"


def _machine(machine: dict[str, str]) -> str:
    facts = ", ".join(f"{name} {value}" for name, value in machine.items() if name != "command")
    commands = "<br>".join(f"<code>{escape(command)}</code>" for command in machine["command"].splitlines())
    return f"<p>Commands, then <code>foretree bench report</code>:<br>{commands}<br>{escape(facts)}</p>"
