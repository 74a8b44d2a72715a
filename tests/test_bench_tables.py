import csv
import io

import pandas as pd
import pytest

from bench_fakes import study_table
from foretree.bench import facts, layout, tables
from foretree.bench.layout import Cell, Table

TABLE = Table(
    "Table 3",
    "A <small> table & more",
    ("Dataset", "ours", "paper", "ours"),
    (
        (Cell("a_b"), Cell("82.4", best=True), Cell("82.3", side=True), Cell("70.0")),
        (Cell("c"), Cell("7.0"), Cell("\N{EN DASH}", side=True), Cell("71.5", best=True)),
    ),
    (("", 1), ("HybridRST", 2), ("CART-G", 1)),
    ("A note.",),
)


def answers() -> pd.DataFrame:
    """Two datasets of the paper, three methods, two folds, depths 2 and 3."""
    accuracy = {"CART-G": 0.80, "RST-G": 0.82, "HybridRST": 0.829}
    rows = [
        (dataset, depth, fold, title, value + 0.01 * depth, value, 4.0, 0.5 * depth)
        for dataset in ("wine", "adult")
        for depth in (2, 3)
        for fold in (1, 2)
        for title, value in accuracy.items()
    ]
    names = ["dataset", "depth", "fold", "title", "train", "test", "leaves", "seconds"]
    return pd.DataFrame(rows, columns=names)


def test_text_lines_up_and_marks_the_best():
    assert layout.as_text(TABLE).splitlines() == [
        "Table 3. A <small> table & more",
        "            HybridRST  CART-G",
        "Dataset   ours  paper    ours",
        "-" * 29,
        "a_b      82.4*   82.3    70.0",
        "c          7.0      \N{EN DASH}   71.5*",
        "A note.",
    ]


def test_markdown_joins_group_and_header():
    lines = layout.as_markdown(TABLE).splitlines()
    assert lines[2] == "| Dataset | HybridRST ours | HybridRST paper | CART-G ours |"
    assert lines[4] == "| a_b | **82.4** | 82.3 | 70.0 |"


def test_csv_is_a_header_and_rows():
    rows = list(csv.reader(io.StringIO(layout.as_csv(TABLE))))
    assert rows[0] == ["Dataset", "HybridRST ours", "HybridRST paper", "CART-G ours"]
    assert rows[2] == ["c", "7.0", "\N{EN DASH}", "71.5"]


def test_html_escapes_and_names():
    text = layout.as_html(TABLE)
    assert '<figure class=table id="table-3">' in text
    assert "A &lt;small&gt; table &amp; more" in text
    assert '<th colspan="2" scope="colgroup">HybridRST</th>' in text
    assert "<td class=best>82.4</td><td class=side>82.3</td>" in text


def test_latex_escapes_and_bolds():
    text = layout.as_latex(TABLE)
    assert r"\caption{A <small> table \& more}" in text
    assert r"a\_b & \textbf{82.4} & 82.3 & 70.0 \\" in text
    assert r"\multicolumn{2}{c}{HybridRST}" in text
    assert text.count("{") == text.count("}")


def test_strange_names_break_no_format():
    table = layout.Table("T", "t", ("a|b", "c"), ((layout.Cell("x|y"), layout.Cell(r"${p}^~\q")),))
    assert layout.as_markdown(table).splitlines()[2:5] == [
        r"| a\|b | c |",
        "| --- | ---: |",
        r"| x\|y | ${p}^~\q |",
    ]
    tex = r"\$\{p\}\textasciicircum{}\textasciitilde{}\textbackslash{}q \\"
    assert tex in layout.as_latex(table)


def test_no_improvement_has_one_spelling():
    assert tables._improvement(89.39, 89.4) == tables._improvement(89.4, 89.4) == "+0.0"


def test_averages_over_fewer_cells_say_so():
    short = answers()
    assert "not all of them on some datasets: CART-G, HybridRST" in tables.table_3(short).notes[-1]
    full = tables.accuracy_table("T", pd.concat([short] * 5), "train", 2, ("CART-G",))
    assert full.notes == ("Marked: the best of ours.",)


def test_table_3_has_ours_the_papers_the_difference_and_the_improvement():
    table = tables.table_3(answers())
    assert [row[0].text for row in table.rows] == ["adult", "wine"], "as the paper: by name"
    adult = [cell.text for cell in table.rows[0]]
    dash = "\N{EN DASH}"
    assert adult == [
        "adult",
        dash,
        "76.3",
        dash,
        "80.0",
        "82.1",
        "-2.1",
        "82.9",
        "82.4",
        "+0.5",
        f"{dash} (+3.6)",
    ]
    assert [cell.text for cell in table.rows[0] if cell.best] == ["82.9"]
    assert [group for group, _ in table.groups] == ["", "BendersOCT", "CART-G", "HybridRST", ""]
    assert sum(span for _, span in table.groups) == len(table.headers) == len(adult)


def test_appendix_c_is_15_tables_in_the_papers_order():
    found = tables.appendix_c(answers())
    assert [table.name for table in found] == [f"Table C.{number}" for number in range(1, 16)]
    assert found[0].title == "In-sample accuracies (%), averaged over 10 folds and all depths"
    assert found[1].title == "In-sample accuracies (%), averaged over 10 folds, depth 2"
    assert found[14].title == "Out-of-sample accuracies (%), averaged over 10 folds, depth 8"
    assert [group for group, _ in found[0].groups[1:]] == list(tables.APPENDIX_TITLES)
    rst_g = found[1].rows[0][16:19]
    assert [cell.text for cell in rst_g] == ["84.0", "79.1", "+4.9"]


def test_no_difference_has_one_spelling():
    assert tables._difference(82.44, 82.4) == "+0.0"
    assert tables._difference(82.36, 82.4) == "+0.0"
    assert tables._difference(82.3, 82.4) == "-0.1"


def test_table_4_is_seconds_by_depth_with_the_papers():
    table = tables.table_4(answers())
    assert [row[0].text for row in table.rows] == ["2", "3"]
    assert [cell.text for cell in table.rows[0][7:]] == ["1.0000", "9.712", "9.7x"]


def test_table_2_shows_the_papers_field_where_they_differ():
    counted = [
        tables.Counted("adult", 48842, 14, 2, 135, 0.24),
        tables.Counted("wine", 178, 13, 3, 129, 0.05),
    ]
    adult, wine = tables.table_2(counted, {"adult": "E", "wine": "E"}).rows
    assert [cell.text for cell in adult] == ["adult", "2 (B)", "48842 (L)", "14", "135 (L)", "E", "I"]
    assert wine[4].text == "129 (L) (paper 130 (L))"
    assert wine[5].text == "E (paper NE)"
    assert wine[6].text == "HI (paper I)"


@pytest.mark.parametrize(("lost", "group"), [(0.099, "NE"), (0.1, "E")])
def test_overfitting_is_ten_points_lost_by_unlimited_cart(lost, group):
    title = "CART without a depth limit"
    found = pd.DataFrame(
        {"dataset": "wine", "title": [title, "CART-G"], "train": 1.0, "test": [1.0 - lost, 0.1]}
    )
    assert tables.overfitting(found) == {"wine": group}


def test_the_papers_own_numbers_are_at_hand():
    assert facts.accuracy("monks-1", None, "test", "HybridRST") == 94.3
    assert facts.accuracy("wine", 2, "train", "RST-M") == 62.0
    assert facts.accuracy("wine", 2, "train", "CART-M") is None
    assert facts.seconds(8, "HybridRST") == 107.171


def test_strange_datasets_come_last():
    table = tables.accuracy_table("T", study_table({"CART-G": 0.1}, n_datasets=1), "train", None, ("CART-G",))
    assert [cell.text for cell in table.rows[0]][2:] == ["\N{EN DASH}", "\N{EN DASH}"]
