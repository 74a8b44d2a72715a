"""How questions read."""

import datetime as dt
import pickle

import pytest

from foretree.encode import Split, value_text


@pytest.mark.parametrize(
    ("kind", "value", "yes", "no"),
    [
        ("threshold", 37.5, "c <= 37.5", "c > 37.5"),
        ("threshold", 40.0, "c <= 40", "c > 40"),
        ("threshold", dt.datetime(2020, 3, 1), "c <= 2020-03-01", "c > 2020-03-01"),
        ("category", "Private", "c = Private", "c != Private"),
        ("missing", None, "c is missing", "c is present"),
        ("true", 1, "c = 1", "c = 0"),
        ("true", True, "c is true", "c is false"),
        ("interval", (37.5, 40.0), "37.5 < c <= 40", "c <= 37.5 or c > 40"),
        ("interval", (None, 40.0), "c <= 40", "c > 40"),
        ("interval", (37.5, None), "c > 37.5", "c <= 37.5"),
        ("interval", (None, None), "c is present", "c is missing"),
    ],
)
def test_questions_read_both_ways(kind, value, yes, no):
    split = Split("c", 0, kind, value)
    assert (str(split), split.negated) == (yes, no)
    assert pickle.loads(pickle.dumps(split)) == split
    assert hash(split) == hash(Split("c", 0, kind, value))
    seen = Split("c", 0, kind, value, missing_answer=False, missing_seen=True)
    says_so = kind != "missing" and value != (None, None)
    assert str(seen) == yes
    assert seen.negated == (f"{no} or missing" if says_so else no)
    if says_so:
        mode = Split("c", 0, kind, value, missing_answer=True, missing_seen=True)
        assert (str(mode), mode.negated) == (f"{yes} or missing", no)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.1"),
        (-0.0, "0"),
        (1e16, "1e+16"),
        (1e15, "1000000000000000"),
        (1e-7, "1e-07"),
        (3, "3"),
        ("", "''"),
        (" a", "' a'"),
        ("a\n", "'a\\n'"),
        ("plain text", "plain text"),
        (dt.datetime(5, 1, 2), "0005-01-02"),
        (dt.datetime(2020, 1, 2, 3, 4, 5, 6), "2020-01-02 03:04:05.000006"),
        (dt.datetime(2020, 1, 2, 3, tzinfo=dt.UTC), "2020-01-02 03:00:00 UTC"),
        (dt.timedelta(days=1, hours=2), "1 day, 2:00:00"),
    ],
)
def test_values_print_shortly(value, text):
    assert value_text(value) == text
