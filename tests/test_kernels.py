"""Every kernel against a slow twin in NumPy."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

import oracle
import strategies
from foretree._kernels.bits import WORD, pack_binary, popcount, transpose32
from foretree._kernels.clock import seconds
from foretree._kernels.descend import descend_values, descend_words
from foretree._kernels.exact import GINI, KEPT, Rules, leaf_loss
from foretree._kernels.groups import order_by_class
from foretree._kernels.grow import look_two, survey, workspace
from foretree._kernels.jit import is_ready
from foretree._kernels.node import compact, gather, keep_distinct, keep_splitting, padded, split_rows
from foretree._kernels.pairs import LANES, PASS_WORDS, add_pairs, clear_pairs
from foretree._kernels.price import price_pairs
from foretree._kernels.steps import CHUNK_WORDS, Groups
from foretree.costs import Limits, cell_rows, cell_weights
from foretree.counts import MemoryRows
from foretree.losses import LOSSES, resolve_loss
from foretree.rules import make_rules
from strategies import ORACLE_LOSSES, pack

NO_RULES = Rules(GINI, np.zeros((2, 2)), True, False, 1, 2, 0.0, 0.0)


def random_bits(n_rows, n_splits, seed=0, share=0.5):
    return (np.random.default_rng(seed).random((n_rows, n_splits)) < share).astype(np.uint8)


def as_columns(x, width):
    """Return rows of 0/1 (n, p) as column-major words (ceil(n / 32), width)."""
    words = np.zeros(((len(x) + WORD - 1) // WORD, width), np.uint32)
    for row in range(len(x)):
        for split in range(x.shape[1]):
            words[row // WORD, split] |= np.uint32(int(x[row, split]) << (row % WORD))
    return words


# ---- packing


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("n_splits", [1, 5, 31, 32, 33, 64, 65, 100])
def test_packing(n_splits, dtype):
    x = random_bits(9, n_splits)
    words = np.full((9, (n_splits + 31) // 32), 0xDEADBEEF, np.uint32)
    assert pack_binary(x.astype(dtype).reshape(-1), 9, n_splits, words) == -1
    np.testing.assert_array_equal(words, pack(x))


@settings(max_examples=200)
@given(
    st.data(),
    st.sampled_from([np.uint8, np.int64, np.float32, np.float64]),
    st.integers(1, 70),
    st.integers(1, 5),
)
def test_the_first_value_that_is_neither_is_told(data, dtype, n_splits, n_rows):
    values = random_bits(n_rows, n_splits).astype(dtype).reshape(-1)
    bad = [2, 255] if dtype == np.uint8 else [2, -1, 7]
    if np.dtype(dtype).kind == "f":
        bad += [0.5, np.nan, np.inf, -np.inf, np.float32(1e-30)]
    places = data.draw(st.lists(st.integers(0, values.size - 1), max_size=3))
    for place in places:
        values[place] = data.draw(st.sampled_from(bad))
    words = np.zeros((n_rows, (n_splits + 31) // 32), np.uint32)
    assert pack_binary(values, n_rows, n_splits, words) == min(places, default=-1)


def test_negative_zero_is_zero():
    words = np.ones((1, 1), np.uint32)
    assert pack_binary(np.array([-0.0, 1.0]), 1, 2, words) == -1
    assert words[0, 0] == 2


# ---- bits in words


@njit
def count_ones(word):
    return popcount(word)


@njit
def transposed(block):
    transpose32(block)
    return block


@given(st.integers(0, 2**32 - 1))
def test_population_count(word):
    assert count_ones(np.uint32(word)) == word.bit_count()


def test_transposing_a_block():
    x = random_bits(32, 32, seed=3)
    block = np.array([sum(int(bit) << c for c, bit in enumerate(row)) for row in x], np.uint32)
    want = np.array([sum(int(bit) << r for r, bit in enumerate(column)) for column in x.T], np.uint32)
    np.testing.assert_array_equal(transposed(block.copy()), want)


@pytest.mark.parametrize("n_rows", [1, 31, 32, 33, 100])
@pytest.mark.parametrize("n_splits", [1, 32, 45])
def test_gathering_rows_as_columns(n_rows, n_splits):
    x = random_bits(150, n_splits)
    rows = np.random.default_rng(1).permutation(150).astype(np.int32)
    width = (n_splits + 31) // 32 * 32
    columns = np.full((8, width), 7, np.uint32)
    first, at = 10, 2
    end = gather(pack(x), rows, first, first + n_rows, columns, at)
    assert end == at + (n_rows + 31) // 32
    np.testing.assert_array_equal(columns[at:end], as_columns(x[rows[first : first + n_rows]], width))
    assert (columns[:at] == 7).all()
    assert (columns[end:] == 7).all()


@settings(max_examples=100)
@given(strategies.bits(70, 3), st.integers(0, 2), st.integers(0, 70), st.integers(0, 70))
def test_splitting_rows(x, split, one, other):
    first, last = sorted((one, other))
    rows = np.random.default_rng(0).permutation(70).astype(np.int32)
    got = rows.copy()
    middle = split_rows(pack(x), got, first, last, split, np.empty(70, np.int32))
    part = rows[first:last]
    answers = x[part, split]
    assert middle == first + (answers == 0).sum()
    # Stably: the order of rows decides no tie, but it keeps memory in order.
    want = np.concatenate([rows[:first], part[answers == 0], part[answers == 1], rows[last:]])
    np.testing.assert_array_equal(got, want)


@given(st.lists(st.integers(0, 3), max_size=40))
def test_ordering_by_class(labels):
    classes = np.array(labels, np.int64)
    order, starts = order_by_class(classes, 5)
    np.testing.assert_array_equal(order, np.argsort(classes, kind="stable"))
    np.testing.assert_array_equal(np.diff(starts), np.bincount(classes, minlength=5))
    assert starts[0] == 0


# ---- which columns matter


@njit
def kept_splitting(ones, n_entries, n_splits):
    kept = np.empty(n_splits, np.int64)
    return kept[: keep_splitting(ones, n_entries, n_splits, kept)]


@njit
def kept_distinct(columns, bounds, sizes, n_groups, n_splits):
    kept = np.empty(n_splits, np.int64)
    return kept[: keep_distinct(columns, bounds, sizes, n_groups, n_splits, kept)]


def test_keeping_what_separates():
    ones = np.array([[0, 3, 1, 2, 3, 0], [0, 4, 0, 4, 0, 4]], np.int32)
    np.testing.assert_array_equal(kept_splitting(ones, 7, 6), [2, 3, 4, 5])
    np.testing.assert_array_equal(kept_splitting(ones, 7, 3), [2])


@settings(max_examples=150)
@given(st.data(), st.integers(1, 40), st.lists(st.integers(1, 70), min_size=1, max_size=3))
def test_keeping_the_first_of_equal_and_complementary_columns(data, n_splits, sizes):
    n_rows = sum(sizes)
    x = data.draw(strategies.bits(n_rows, n_splits)).copy()
    for _ in range(data.draw(st.integers(0, 6))):
        one, other = (data.draw(st.integers(0, n_splits - 1)) for _ in range(2))
        x[:, one] = x[:, other] ^ data.draw(st.integers(0, 1))
    ends = np.cumsum(sizes)
    parts = [as_columns(x[end - size : end], n_splits) for size, end in zip(sizes, ends, strict=True)]
    bounds = np.r_[0, np.cumsum([len(part) for part in parts])]
    got = kept_distinct(np.concatenate(parts), bounds, np.array(sizes), len(sizes), n_splits)
    want = []
    seen = set()
    for split in range(n_splits):
        column = x[:, split] ^ x[0, split]
        if column.tobytes() not in seen:
            seen.add(column.tobytes())
            want.append(split)
    np.testing.assert_array_equal(got, want)


def test_compacting():
    columns = np.arange(3 * 64, dtype=np.uint32).reshape(3, 64)
    kept = np.array([1, 5, 40])
    got = columns.copy()
    compact(got, 2, kept, 3)
    np.testing.assert_array_equal(got[:2, :3], columns[:2, kept])
    assert (got[:2, 3 : padded(3)] == 0).all()
    np.testing.assert_array_equal(got[2], columns[2])


def test_padding():
    assert [padded(n) for n in (0, 1, 16, 17, 300)] == [0, 16, 16, 32, 304]


# ---- pair counts


@pytest.mark.parametrize("n_splits", [1, 4, 15, 16, 17, 37])
@pytest.mark.parametrize("n_rows", [1, 64, 70])
def test_counting_pairs(n_splits, n_rows):
    x = random_bits(n_rows, n_splits, seed=n_splits)
    width = padded(n_splits)
    # Words before and after those asked for do not count.
    columns = np.full(((n_rows + 31) // 32 + 2, width + 5), 0xFFFFFFFF, np.uint32)
    columns[1:-1] = as_columns(x, width + 5)
    counts = np.full((2, width, width), -1, np.int32)
    clear_pairs(counts, n_splits, width)
    add_pairs(columns, 1, len(columns) - 1, n_splits, width, counts[1])
    both = x.astype(int).T @ x
    upper = np.triu_indices(n_splits)
    np.testing.assert_array_equal(counts[1][:n_splits, :n_splits][upper], both[upper])
    assert (counts[0][:n_splits, :n_splits][upper] == 0).all()
    add_pairs(columns, 1, len(columns) - 1, n_splits, width, counts[1])
    np.testing.assert_array_equal(counts[1][:n_splits, :n_splits][upper], 2 * both[upper])


def test_counting_pairs_in_several_passes():
    n_rows = (PASS_WORDS + 3) * WORD
    x = random_bits(n_rows, 5)
    columns = np.zeros((PASS_WORDS + 3, LANES), np.uint32)
    gather(
        pack(x), np.arange(n_rows, dtype=np.int32), 0, n_rows, np.empty((PASS_WORDS + 3, 32), np.uint32), 0
    )
    octets = np.packbits(x.T, axis=1, bitorder="little")
    columns[:, :5] = np.ascontiguousarray(octets).view("<u4").T
    counts = np.zeros((1, LANES, LANES), np.int32)
    add_pairs(columns, 0, len(columns), 5, LANES, counts[0])
    np.testing.assert_array_equal(np.triu(counts[0, :5, :5]), np.triu(x.astype(int).T @ x))


# ---- losses of leaves


@settings(max_examples=100)
@given(
    st.lists(st.floats(0, 1e6), min_size=2, max_size=5),
    st.sampled_from([*sorted(LOSSES), "prices"]),
)
def test_the_kernels_losses_are_numpys(weights, name):
    weights = np.array(weights)
    n_classes = weights.size
    prices = np.arange(n_classes**2, dtype=float).reshape(n_classes, n_classes) % 5
    loss = LOSSES[name] if name in LOSSES else resolve_loss(prices, 2, n_classes)
    rules = make_rules(loss, n_classes, Limits(), True)
    want = float(loss.of(weights[None, :])[0])
    assert leaf_loss(rules, weights) == pytest.approx(want, rel=1e-9, abs=1e-9 * weights.sum())
    if name in LOSSES:
        assert want == pytest.approx(ORACLE_LOSSES[name](weights), rel=1e-9, abs=1e-9 * weights.sum())


@njit
def own_loss(weights):
    return 0.25 + weights[0] * 2 + weights[-1] ** 2


@settings(max_examples=40)
@given(strategies.problems(most_splits=4))
def test_pricing_pairs_with_a_compiled_loss(problem):
    counts = MemoryRows(problem.grouped()).count(())
    cells, rows = cell_weights(counts), cell_rows(counts)
    got = price_pairs(own_loss, counts.both, counts.total, rows)
    p = counts.both.shape[1]
    for side in range(2):
        for root in range(p):
            for child in range(p):
                want = sum(
                    own_loss.py_func(cells[side, answer, root, child])
                    for answer in range(2)
                    if rows[side, answer, root, child]
                )
                assert got[side, root, child] == pytest.approx(want, abs=1e-6)


# ---- bounds


def surveyed(problem, loss, limits, space=None):
    grouped = problem.grouped()
    starts, ends = grouped.starts[:-1], grouped.starts[1:]
    rules = make_rules(loss, grouped.n_classes, limits, True)
    space = space or workspace(starts, ends, grouped.n_splits, grouped.n_classes, True, False)
    return survey(grouped.words, grouped.order, starts, ends, grouped.n_splits, rules, grouped.groups, space)


@settings(max_examples=150)
@given(
    strategies.problems(most_splits=20, most_classes=4),
    st.sampled_from(["misclassification", "gini"]),
    strategies.limits,
)
def test_bounds_are_lower_bounds(problem, name, limits):
    splits, bounds, weights = surveyed(problem, LOSSES[name], limits)
    task = problem.task(ORACLE_LOSSES[name], limits)
    total = task.weights.sum()
    np.testing.assert_allclose(weights, task.weights.sum(axis=1) @ task.x[:, splits], rtol=1e-7)
    for split, bound in zip(splits, bounds, strict=True):
        sides = [np.flatnonzero(task.x[:, split] == answer) for answer in (0, 1)]
        assert bound <= sum(oracle.best(task, side, 1)[0] for side in sides) + 4e-6 * total
        if limits == Limits() and total < 2**20:
            # Where no minimum forbids anything a bound is the loss itself, in single precision.
            least = [
                min(
                    sum(
                        ORACLE_LOSSES[name](task.weights[side][task.x[side, k] == a].sum(axis=0))
                        for a in (0, 1)
                    )
                    for k in range(task.x.shape[1])
                )
                for side in sides
            ]
            assert bound == pytest.approx(sum(least), abs=1e-5 * total)


def test_roots_are_the_first_of_their_kind_and_separate():
    x = random_bits(50, 4)
    x = np.c_[np.zeros(50, np.uint8), x, 1 - x[:, 1], x[:, 0], np.ones(50, np.uint8)]
    y = np.random.default_rng(0).integers(0, 2, 50)
    problem = strategies.Problem(x, y, None, np.ones(2))
    splits, _, _ = surveyed(problem, LOSSES["gini"], Limits())
    np.testing.assert_array_equal(splits, [1, 2, 3, 4])
    scarce = np.zeros((50, 1), np.uint8)
    scarce[:3] = 1
    problem = strategies.Problem(np.c_[x[:, 1], scarce], y, None, np.ones(2))
    np.testing.assert_array_equal(surveyed(problem, LOSSES["gini"], Limits(4))[0], [0])
    np.testing.assert_array_equal(surveyed(problem, LOSSES["gini"], Limits(1, 2, 3.5))[0], [0])
    np.testing.assert_array_equal(surveyed(problem, LOSSES["gini"], Limits(3))[0], [0, 1])


@pytest.mark.parametrize("steps", [1, 2])
def test_a_space_of_few_words_finds_the_same(steps):
    x = random_bits(400, 11, share=0.3)
    y = (x[:, 0] ^ x[:, 5]).astype(np.int64) + (x[:, 2] & x[:, 3])
    grouped = strategies.Problem(x, y, None, np.ones(3)).grouped()
    starts, ends = grouped.starts[:-1], grouped.starts[1:]
    rules = make_rules(LOSSES["entropy"], 3, Limits(), True)
    whole = workspace(starts, ends, 11, 3, True, False)
    assert len(whole.columns) < CHUNK_WORDS
    answers = []
    for space in (whole, whole._replace(columns=np.empty((1, whole.columns.shape[1]), np.uint32))):
        step, n_splits = look_two(
            grouped.words, grouped.order, starts, ends, 11, steps, rules, None, grouped.groups, space
        )
        assert n_splits == 11
        np.testing.assert_array_equal(space.whole[KEPT, :11], np.arange(11))
        answers.append(step)
    assert answers[0] == answers[1]
    assert answers[0].root in (0, 5)


def test_groups_need_not_stand_by_class():
    """Two groups of one class, and none of another, count as what they add up to."""
    x = random_bits(40, 6)
    y = np.random.default_rng(2).integers(0, 2, 40)
    order = np.argsort(y, kind="stable").astype(np.int32)
    n_low = int((y == 0).sum())
    starts, ends = np.array([0, 5, n_low]), np.array([5, n_low, 40])
    groups = Groups(np.array([0, 0, 1]), np.array([1.0, 1.0, 1.0]), np.array([1, 1, 1]))
    rules = make_rules(LOSSES["gini"], 2, Limits(), True)
    space = workspace(starts, ends, 6, 2, True, False)
    step, _ = look_two(pack(x), order, starts, ends, 6, 2, rules, None, groups, space)
    want = oracle.best(oracle.task(x, y, 2, loss=oracle.gini), np.arange(40), 2)
    assert step.cost == pytest.approx(want[0])
    assert (step.root, step.low, step.high) == (want[3][0], want[3][1][0], want[3][2][0])


# ---- descending


@st.composite
def trees(draw, n_splits):
    """Draw split, low and high of a tree in preorder."""
    split, low, high = [], [], []

    def grow(level):
        node = len(split)
        split.append(-1)
        low.append(-1)
        high.append(-1)
        if level and draw(st.booleans()):
            split[node] = draw(st.integers(0, n_splits - 1))
            low[node] = grow(level - 1)
            high[node] = grow(level - 1)
        return node

    grow(4)
    return tuple(np.array(column, np.int64) for column in (split, low, high))


@settings(max_examples=100)
@given(st.data(), st.integers(1, 70))
def test_descending(data, n_splits):
    split, low, high = data.draw(trees(n_splits))
    x = random_bits(30, n_splits)
    want = np.zeros(30, np.int64)
    for row in range(30):
        node = 0
        while split[node] >= 0:
            node = high[node] if x[row, split[node]] else low[node]
        want[row] = node
    leaves = np.full(30, -5, np.int64)
    descend_words(pack(x), split, low, high, leaves)
    np.testing.assert_array_equal(leaves, want)
    for dtype in (np.uint8, np.float64):
        leaves = np.full(30, -5, np.int64)
        assert descend_values(x.astype(dtype), split, low, high, leaves) == -1
        np.testing.assert_array_equal(leaves, want)
    if split[0] >= 0:
        broken = x.astype(float)
        broken[17, split[0]] = np.nan
        assert descend_values(broken, split, low, high, leaves) == 17 * n_splits + split[0]


# ---- the clock and the compiler


def test_the_clock_goes_on():
    scratch = np.empty(3, np.int64)
    began, began_there = seconds(scratch), time.monotonic()
    time.sleep(0.01)
    passed, passed_there = seconds(scratch) - began, time.monotonic() - began_there
    assert 0.005 < passed <= passed_there + 0.005


def test_readiness_is_seen():
    double = njit(lambda number: 2 * number)
    assert not is_ready(double)
    assert double(3) == 6
    assert is_ready(double)
    assert is_ready(descend_words)
