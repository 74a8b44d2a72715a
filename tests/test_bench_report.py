import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench_fakes import outcome
from foretree.bench import figures, layout, questions, report, results, study, tables
from foretree.bench.store import Key, Outcome, Store

TITLES = {
    "cart-g": 0.70,
    "cart-m": 0.69,
    "greedy-m": 0.69,
    "greedy-g": 0.70,
    "rst-m": 0.75,
    "rst-g": 0.76,
    "hybrid": 0.77,
}
TITLES |= {
    "binoct": 0.6,
    "flowoct": 0.65,
    "rst3-m": 0.765,
    "rst3-g": 0.77,
    "rst4-m": 0.766,
    "benders": 0.72,
    "cart-full": 0.7,
}


def fill(store: Store) -> None:
    """Two datasets, all folds, depths 2 to 5, with accuracies that rise with depth."""
    run = store.start_run("foretree bench run --jobs 2", {"processor": "a processor", "cores": "2"})
    for number, dataset in enumerate(("wine", "haberman")):
        for name, base in TITLES.items():
            for depth in (2, 3, 4, 5) if name != "cart-full" else (0,):
                for fold in range(1, 11):
                    wobble = 0.002 * ((fold * 7 + number * 3 + len(name)) % 10)
                    cell = outcome(
                        base + 0.02 * depth + wobble, base + 0.01 * depth - wobble, 0.01 * depth, 2**depth
                    )
                    late = name == "benders" and depth == 5
                    cell = Outcome("timeout", "no answer within 60 s") if late else cell
                    store.put(Key(dataset, "v1", fold, depth, name, "{}", "code 1"), cell, run)


@pytest.fixture(scope="module")
def findings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    store = Store(folder / "cells.sqlite")
    fill(store)
    store.close()
    return study.gather(folder / "cells.sqlite", folder)


@pytest.fixture(scope="module")
def page(findings, tmp_path_factory):
    return report.write(findings, tmp_path_factory.mktemp("page"))


def test_the_page_answers_every_question(page):
    text = page.read_text()
    for anchor in (
        "agreement",
        "two-or-one",
        "three-or-two",
        "which-loss",
        "sweet-spot",
        "pathology",
        "times",
        "made",
    ):
        assert f'id="{anchor}"' in text
        assert f'href="#{anchor}"' in text or anchor == "tables"
    for number in range(1, 16):
        assert f'id="table-c-{number}"' in text
    assert "foretree bench run --jobs 2" in text
    assert "a processor" in text
    assert "20 x BendersOCT, timeout: no answer within 60 s" in text


def test_the_page_is_offline(page):
    text = page.read_text()
    assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"|<rdf:RDF.*?</rdf:RDF>', "", text, flags=re.DOTALL)
    assert "<script" not in text
    assert not re.search(r'(src|href)="(?!#)', text.replace("xlink:", ""))


def test_ids_on_the_page_are_given_once(page):
    found = re.findall(r'<(?:section|figure|h2|path|clipPath|g)[^>]* id="([^"]+)"', page.read_text())
    assert len(found) == len(set(found))


def test_figures_are_files_in_both_formats(page):
    folder = page.parent / "figures"
    names = {path.stem for path in folder.glob("*.svg")}
    assert {"figure-5", "figure-6", "figure-7", "figure-8", "figure-9", "critical-difference"} <= names
    assert {
        "pareto-leaves",
        "pareto-seconds",
        "time-by-depth",
        "accuracy-by-depth",
        "pathology-m-depth-4",
    } <= names
    assert names == {path.stem for path in folder.glob("*.png")}
    for path in folder.glob("*.svg"):
        ElementTree.parse(path)


def test_figures_turn_dark_on_a_dark_screen_only(page):
    text = (page.parent / "figures" / "figure-9.svg").read_text()
    assert "@media screen and (prefers-color-scheme: dark)" in text
    colours = set(re.findall(r"(?:fill|stroke): (#[0-9a-f]{6})", text))
    assert colours == set(), "every colour has a dark twin"


def test_tables_are_files(page):
    folder = page.parent / "tables"
    assert {path.suffix for path in folder.iterdir()} == {".csv", ".md", ".tex"}
    assert len(list(folder.glob("table-c-*.csv"))) == 15


def test_the_fall_back_is_the_highest_depth_with_an_answer(findings):
    table = findings.answers[findings.answers["title"] == "BendersOCT"].set_index(
        ["dataset", "fold", "depth"]
    )
    five, four = table.xs(5, level="depth"), table.xs(4, level="depth")
    assert five["fell_back"].all()
    assert not four["fell_back"].any()
    pd.testing.assert_series_equal(five["test"], four["test"])
    assert five["seconds"].isna().all()


def test_no_answer_at_all_is_no_row(tmp_path):
    store = Store(tmp_path / "cells.sqlite")
    store.put(Key("wine", "v", 1, 2, "benders", "{}", "c"), Outcome("timeout", "slow"))
    store.put(Key("wine", "v", 1, 3, "benders", "{}", "c"), Outcome("skipped", "slow"))
    store.put(Key("wine", "v", 1, 3, "rst-m", "{}", "c"), Outcome("failed", "an error is not a fall-back"))
    store.put(Key("wine", "v", 1, 2, "rst-m", "{}", "c"), outcome(0.9, 0.9))
    store.close()
    table = results.answers(results.newest(tmp_path / "cells.sqlite"))
    assert table[["title", "depth"]].to_numpy().tolist() == [["RST-M", 2]]


def test_newer_code_replaces_older_and_parameters_stand_apart(tmp_path):
    store = Store(tmp_path / "cells.sqlite")
    store.put(Key("wine", "v", 1, 2, "rst-m", "{}", "new"), outcome(0.1, 0.1))
    store.put(Key("wine", "v", 1, 2, "rst-m", "{}", "old"), outcome(0.9, 0.9))
    store.put(Key("wine", "v", 1, 2, "rst-m", '{"tie_break": "gini"}', "old"), outcome(0.8, 0.8))
    store.close()
    table = results.answers(results.newest(tmp_path / "cells.sqlite"))
    assert dict(zip(table["title"], table["test"], strict=True)) == {
        "RST-M": 0.9,
        "RST-M [tie_break=gini]": 0.8,
    }


def test_the_sheet_fills_in_for_methods_that_did_not_run(findings, tmp_path):
    (tmp_path / "paper_instances.csv").write_text(
        "data,depth,fold,benders,metric,flow,mcart,binoct,CART,Gini,Acc\n"
        "wine,2,1,0.7,Test Accuracy,,0.61,0.5,0.62,0.63,0.64\n"
        "wine,2,1,0.8,Training Accuracy,,0.71,0.6,0.72,0.73,0.74\n"
    )
    ours = findings.ours[findings.ours["title"] == "RST-G"]
    table, borrowed = results.with_sheet(ours, tmp_path)
    assert borrowed == dict.fromkeys(["BinOCT", "BendersOCT", "CART-G", "CART-M", "RST-M", "HybridRST"], 1), (
        "FlowOCT has no answer there, and RST-G is ours"
    )
    assert not table["proven"][len(ours) :].any()
    here = findings.ours[findings.ours["title"].isin(["RST-G", "BendersOCT"])]
    elsewhere = here[(here["title"] == "RST-G") | (here["dataset"] == "haberman")]
    table, borrowed = results.with_sheet(elsewhere, tmp_path)
    benders = table[table["title"] == "BendersOCT"]
    assert borrowed["BendersOCT"] == 1, "the sheet fills in where a title has no answer of ours"
    assert benders.groupby("dataset").size().to_dict() == {"haberman": 40, "wine": 1}
    assert table[table["title"] == "HybridRST"]["test"].tolist() == [0.64]
    assert "FlowOCT" not in set(table["title"]), "it has no answer there"
    assert len(table[table["title"] == "RST-G"]) == len(ours)


@pytest.mark.parametrize(
    ("ahead", "verdict"),
    [
        ([1, 0, -1, -2], "Gini wins more from depth 4 on (the paper: beyond 5)"),
        ([1, -6, 25, 22], "Gini wins more at depth 3 alone and never for good (the paper: beyond 5)"),
        ([1, 0, 1, 0], "Gini wins more at no depth (the paper: beyond 5)"),
        ([-1, 2, -1, -1], "Gini wins more from depth 4 on (the paper: beyond 5)"),
    ],
)
def test_the_switch_is_where_gini_stays_ahead(ahead, verdict):
    assert questions._verdict(pd.Series(ahead, index=[2, 3, 4, 5])) == verdict


def test_the_switch_lists_every_lead():
    index = pd.MultiIndex.from_tuples([("a", 2, 1), ("a", 3, 1), ("a", 4, 1)], names=results.KEYS)
    values = pd.DataFrame({"RST-M": [0.9, 0.8, 0.7], "RST-G": [0.8, 0.8, 0.9]}, index=index)

    class Fixed:
        def instances(self, _titles, _metric):
            return values

    text = questions._switch(Fixed(), "test")
    assert "depth 2: +1, depth 3: +0, depth 4: -1. Gini wins more from depth 4 on" in text


def test_a_ladder_needs_every_step_on_every_fold(findings):
    steps = findings.ladder("M", 4)
    assert sorted(steps) == [1, 2, 3, 4]
    assert {table["dataset"].nunique() for table in steps.values()} == {2}
    assert findings.ladder("M", 5) == {}, "no optimal tree of depth 5 was grown"
    assert sorted(findings.ladder("G", 3)) == [1, 2, 3]


def with_optimal(findings, depth, proven):
    rst = findings.ours[(findings.ours["title"] == "RST-M") & (findings.ours["depth"] == depth)]
    optimal = rst.assign(title="optimal-M", proven=proven)
    return replace(findings, ours=pd.concat([findings.ours, optimal], ignore_index=True))


def test_a_ladder_ends_at_the_optimal_tree_of_any_depth(findings):
    assert sorted(with_optimal(findings, 5, proven=True).ladder("M", 5)) == [1, 2, 3, 4, 5]


def test_a_tree_without_a_proof_is_no_step_of_the_ladder(findings):
    assert with_optimal(findings, 5, proven=False).ladder("M", 5) == {}


def test_methods_are_drawn_at_the_depths_where_they_answered_everything(findings):
    ours = findings.ours
    hole = (ours["title"] == "RST3-M") & (ours["depth"] == 4) & (ours["dataset"] == "wine")
    found = replace(findings, ours=ours[~hole]).complete(["RST3-M", "RST-M"])
    assert found.groupby("title")["depth"].unique().map(list).to_dict() == {
        "RST-M": [2, 3, 4, 5],
        "RST3-M": [2, 3, 5],
    }


def test_two_steps_are_compared_with_a_step_that_goes_on_too(page):
    text = page.read_text()
    assert "RST-M against greedy-M, out-of-sample, 80 instances" in text
    assert "RST-G against greedy-G, in-sample, 80 instances" in text


def test_the_authors_answers_are_never_called_ours(findings):
    only = findings.ours[findings.ours["title"] == "HybridRST"]
    borrowed = findings.ours[findings.ours["title"] == "BendersOCT"]
    table = tables.table_3(only, pd.concat([only, borrowed], ignore_index=True))
    benders, improvement = table.rows[0][1].text, table.rows[0][-1].text
    assert benders == "\N{EN DASH}"
    assert re.fullmatch(r"[+-]\d+\.\d \(\N{EN DASH}\)", improvement)


def test_the_hybrids_lead_is_told_by_depth_beside_the_sheets(findings, tmp_path):
    keys = {"data": "wine", "depth": 2}
    test = dict.fromkeys(["benders", "flow", "mcart", "binoct", "CART", "Gini", "Acc"], 0.1)
    rows = [
        {**keys, "fold": fold, "metric": metric, **test, "Acc": 0.9 if fold <= 3 else 0.0}
        for fold in range(1, 11)
        for metric in ("Test Accuracy", "Training Accuracy")
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "paper_instances.csv", index=False)
    beside = replace(findings, folder=tmp_path)
    [text] = questions._lead_by_depth(beside, questions.THREE)
    assert (
        "ours and the sheet's: depth 2: 10 and 3; datasets that differ by more than 5 instances: wine +7"
        in text
    )


def test_a_sheet_of_other_datasets_is_no_sheet(findings, tmp_path):
    (tmp_path / "paper_instances.csv").write_text(
        "data,depth,fold,benders,metric,flow,mcart,binoct,CART,Gini,Acc\n"
        "adult,2,1,0.7,Test Accuracy,,0.61,0.5,0.62,0.63,0.64\n"
        "adult,2,1,0.8,Training Accuracy,,0.71,0.6,0.72,0.73,0.74\n"
    )
    section = questions._agreement(replace(findings, folder=tmp_path))
    assert "nan" not in " ".join(section.paragraphs)
    assert section.tables == ()


@settings(deadline=None)
@given(st.lists(st.floats(-20, 20), min_size=1, max_size=19))
def test_labels_are_moved_apart_and_no_further_than_needed(heights):
    heights = np.array(heights)
    moved = figures.spread(heights, 0.5)
    assert np.all(np.diff(np.sort(moved)) >= 0.5 - 1e-6)
    assert moved.sum() == pytest.approx(heights.sum(), abs=1e-6)
    far = heights * 10 + np.arange(len(heights)) * 1000
    assert figures.spread(far, 0.5) == pytest.approx(far)


def test_colours_of_the_papers_methods_are_fixed_and_different():
    titles = list(results.PAPER_TITLES)
    colours = {figures.colour_of(title, titles) for title in titles}
    assert len(colours) == len(titles)
    assert set(figures._DARK) >= set(figures.COLOURS)
    few = ["CART-G", "RST-G", "mine", "yours"]
    assert len({figures.colour_of(title, few) for title in few}) == 4


def test_a_missing_store_says_how_to_make_one(tmp_path):
    with pytest.raises(FileNotFoundError, match="foretree bench run --store"):
        study.gather(tmp_path / "none.sqlite")


def test_every_table_has_the_columns_it_announces(findings):
    for table in study.all_tables(findings):
        assert {len(row) for row in table.rows} <= {len(table.headers)}
        assert not table.groups or sum(span for _, span in table.groups) == len(table.headers)
        assert layout.as_text(table).startswith(table.name)
