from types import SimpleNamespace
from urllib.error import URLError

import pandas as pd
import pytest

from bench_fakes import table
from foretree.bench import datasets, facts
from foretree.bench.datasets import DatasetMissingError, Source


@pytest.fixture(autouse=True)
def _no_data_of_this_machine(tmp_path, monkeypatch):
    monkeypatch.delenv("FORETREE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(datasets, "_fetch_openml", offline)


def offline(_number):
    raise URLError("no network")


def haberman(n_rows: int = 306) -> SimpleNamespace:
    data = pd.DataFrame({"age": range(n_rows), "year": 60, "nodes": 1})
    return SimpleNamespace(data=data, target=pd.Series([1, 2] * (n_rows // 2), name="survival"))


def test_the_papers_19_are_known():
    known = facts.datasets()
    assert len(known) == 19
    assert [name for name, one in known.items() if one.licence == "none stated"] == ["diabetes", "titanic"]
    assert known["tae"].target == "native_english_speaker"


def test_absent_and_offline_says_which_file_to_put_where():
    with pytest.raises(
        DatasetMissingError, match=r"put monks-1.csv \(556 rows, target column 'class'\).*--data"
    ):
        datasets.load(Source("monks-1"))


def test_an_unknown_name_lists_the_known():
    with pytest.raises(DatasetMissingError, match=r"'iris'\. Known: adult, tae.*--table FILE --target"):
        datasets.load(Source("iris"))


def test_the_named_folder_goes_before_the_environment(tmp_path, monkeypatch):
    for place, value in (("named", "1"), ("environment", "2")):
        (tmp_path / place).mkdir()
        (tmp_path / place / "monks-1.csv").write_text(f"a,class\n{value},0\n")
    monkeypatch.setenv("FORETREE_DATA", str(tmp_path / "environment"))
    assert datasets.load(Source("monks-1", tmp_path / "named")).features["a"].tolist() == [1]
    found = datasets.load(Source("monks-1"))
    assert found.features["a"].tolist() == [2]
    assert "not the recorded file" in found.origin


def test_a_download_is_written_once_and_found_again():
    asked = []

    def fetch(number):
        asked.append(number)
        return haberman()

    assert datasets.download(facts.datasets()["haberman"], fetch)
    found = datasets.load(Source("haberman"))
    assert asked == [43]
    assert (found.origin, found.features.shape, found.target.nunique()) == (
        "cache, haberman.csv",
        (306, 3),
        2,
    )
    assert sorted(path.name for path in datasets.cache_folder().iterdir()) == [
        "haberman.csv",
        "haberman.sha256",
    ]


def test_a_download_of_another_shape_is_refused():
    with pytest.raises(
        ValueError, match=r"dataset 43 is not the paper's haberman.*\(300, 3, 2\).*\(306, 3, 2\)"
    ):
        datasets.download(facts.datasets()["haberman"], lambda _number: haberman(300))
    assert not datasets.cache_folder().exists()


def test_no_network_is_no_error_yet():
    assert not datasets.download(facts.datasets()["haberman"], offline)


def test_a_cached_file_that_changed_is_named():
    datasets.download(facts.datasets()["haberman"], lambda _number: haberman())
    with (datasets.cache_folder() / "haberman.csv").open("a") as file:
        file.write("1,1,1,1\n")
    with pytest.raises(ValueError, match=r"haberman\.csv changed since it was downloaded; delete it"):
        datasets.load(Source("haberman"))


def test_tae_predicts_the_native_speaker():
    columns = {"Native_English_speaker": [1, 2], "instructor": [1, 2], "course": 1, "term": 1, "size": 9}
    bunch = SimpleNamespace(data=pd.DataFrame(columns), target=pd.Series([1, 3]))
    features, target = datasets._named_target(facts.datasets()["tae"], bunch)
    assert list(features) == ["instructor", "course", "term", "size", "evaluation"]
    assert target.tolist() == [1, 2]


@pytest.mark.parametrize("ending", ["csv", "parquet", "PARQUET", "pq"])
def test_a_users_table_is_read_by_its_ending(tmp_path, ending):
    path = tmp_path / f"mine.{ending}"
    table().to_csv(path, index=False) if ending == "csv" else table().to_parquet(path)
    found = datasets.load(Source("mine", None, path, "class"))
    assert list(found.features) == ["age", "sex", "job"]
    assert found.target.tolist() == table()["class"].tolist()


def test_a_users_table_needs_its_target(tmp_path):
    path = tmp_path / "mine.csv"
    table().to_csv(path, index=False)
    with pytest.raises(ValueError, match="needs --target"):
        datasets.load(Source("mine", None, path))
    with pytest.raises(ValueError, match="no column 'klass'; its columns are age, sex, job, class"):
        datasets.load(Source("mine", None, path, "klass"))
    table().replace({"class": {"no": None}}).to_csv(path, index=False)
    with pytest.raises(ValueError, match=r"Column 'class' of .* has missing values"):
        datasets.load(Source("mine", None, path, "class"))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (
            "job,class\nc\N{LATIN SMALL LETTER O WITH DIAERESIS}ok,1\n".encode("latin-1"),
            "is no text in UTF-8",
        ),
        (b"", "is empty"),
        (b"class\n1\n2\n", "has no column but 'class'"),
    ],
)
def test_a_table_that_says_nothing_is_named_with_the_reason(tmp_path, content, sentence):
    path = tmp_path / "mine.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"mine\.csv {sentence}"):
        datasets.load(Source("mine", None, path, "class"))


def test_listing_does_not_download(tmp_path):
    with pytest.raises(DatasetMissingError, match=r"^monks-1 is not on this machine: put monks-1\.csv"):
        datasets.load(Source("monks-1", tmp_path, network=False))
