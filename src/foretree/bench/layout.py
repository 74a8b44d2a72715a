"""Tables as values, and how they are written: text, Markdown, HTML, CSV, LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Cell:
    """One field: its text, and whether it is a best value (bold) or a side remark (small)."""

    text: str
    best: bool = False
    side: bool = False


@dataclass(frozen=True)
class Table:
    """A numbered table: grouped headers as (group, n_columns), headers, rows of cells, notes below."""

    name: str
    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    groups: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()


def as_text(table: Table) -> str:
    """Return the table for a terminal; an asterisk marks the best."""
    lines = [list(table.headers), *([_starred(cell) for cell in row] for row in table.rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(table.headers))]
    spans = _widen_to_groups(table, widths)
    body = [_padded(line, widths) for line in lines]
    top = [_padded([name for name, _ in table.groups], spans)] if table.groups else []
    rule = "-" * len(body[0])
    return "\n".join([f"{table.name}. {table.title}", *top, body[0], rule, *body[1:], *table.notes, ""])


def _widen_to_groups(table: Table, widths: list[int]) -> list[int]:
    """Widen columns under a longer group name, in place, and return the groups' widths."""
    spans, start = [], 0
    for name, n_columns in table.groups:
        span = sum(widths[start : start + n_columns]) + 2 * (n_columns - 1)
        widths[start] += max(0, len(name) - span)
        spans.append(max(span, len(name)))
        start += n_columns
    return spans


def _starred(cell: Cell) -> str:
    return f"{cell.text}*" if cell.best else cell.text


def _padded(line: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = zip(line, widths, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(text.rjust(width) for text, width in rest)])


def as_markdown(table: Table) -> str:
    """Return the table as Markdown, the group's name joined to its first header."""
    rule = ["---", *["---:"] * (len(table.headers) - 1)]
    rows = [[f"**{cell.text}**" if cell.best else cell.text for cell in row] for row in table.rows]
    lines = [_joined_headers(table), rule, *rows]
    body = "\n".join("| " + " | ".join(text.replace("|", r"\|") for text in line) + " |" for line in lines)
    notes = "".join(f"\n\n{note}" for note in table.notes)
    return f"**{table.name}.** {table.title}\n\n{body}{notes}\n"


def _joined_headers(table: Table) -> list[str]:
    if not table.groups:
        return list(table.headers)
    names = [name for name, n_columns in table.groups for name in [name] * n_columns]
    return [f"{name} {header}".strip() for name, header in zip(names, table.headers, strict=True)]


def as_csv(table: Table) -> str:
    """Return the table as CSV with one header line."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_joined_headers(table))
    writer.writerows([cell.text for cell in row] for row in table.rows)
    return out.getvalue()


def as_html(table: Table) -> str:
    """Return the table as an HTML figure."""
    groups = "".join(
        f'<th colspan="{span}" scope="colgroup">{escape(name)}</th>' for name, span in table.groups
    )
    top = f"<tr>{groups}</tr>" if groups else ""
    headers = "".join(f'<th scope="col">{escape(header)}</th>' for header in table.headers)
    rows = "\n".join(f"<tr>{''.join(map(_html_cell, row))}</tr>" for row in table.rows)
    notes = "".join(f"<p class=note>{escape(note)}</p>" for note in table.notes)
    return (
        f'<figure class=table id="{anchor(table)}"><figcaption><b>{escape(table.name)}.</b> '
        f"{escape(table.title)}</figcaption><div class=scroll><table><thead>{top}<tr>{headers}</tr></thead>"
        f"<tbody>\n{rows}\n</tbody></table></div>{notes}</figure>"
    )


def _html_cell(cell: Cell) -> str:
    kind = " class=best" if cell.best else " class=side" if cell.side else ""
    return f"<td{kind}>{escape(cell.text)}</td>"


def anchor(table: Table) -> str:
    """Return the table's file and link name."""
    return table.name.lower().replace(" ", "-").replace(".", "-")


def as_latex(table: Table) -> str:
    """Return the table as a LaTeX float in booktabs style."""
    columns = "l" + "r" * (len(table.headers) - 1)
    spans = [f"\\multicolumn{{{span}}}{{c}}{{{_tex(name)}}}" for name, span in table.groups]
    lines = [" & ".join(spans) + r" \\"] if spans else []
    lines.append(" & ".join(map(_tex, table.headers)) + r" \\")
    lines.append(r"\midrule")
    lines += [" & ".join(map(_tex_cell, row)) + r" \\" for row in table.rows]
    notes = [f"\\par\\footnotesize {_tex(note)}" for note in table.notes]
    head = [r"\begin{table}", r"\centering", f"\\caption{{{_tex(table.title)}}}"]
    tabular = [f"\\begin{{tabular}}{{{columns}}}", r"\toprule", *lines, r"\bottomrule", r"\end{tabular}"]
    return "\n".join([*head, *tabular, *notes, r"\end{table}", ""])


def _tex(text: str) -> str:
    return "".join(_TEX.get(sign, sign) for sign in text)


_TEX = {sign: f"\\{sign}" for sign in "%&_#${}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\N{EN DASH}": "--",
}


def _tex_cell(cell: Cell) -> str:
    return f"\\textbf{{{_tex(cell.text)}}}" if cell.best else _tex(cell.text)


WRITERS = {"txt": as_text, "md": as_markdown, "csv": as_csv, "html": as_html, "tex": as_latex}
