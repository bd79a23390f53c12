"""A key/value database against a dict."""

from __future__ import annotations

import threading

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

import remanent

KEYS = st.binary(max_size=4)
VALUES = st.binary(max_size=300)


class AgainstDict(RuleBasedStateMachine):
    """The same calls on both, with the same answers."""

    def __init__(self):
        super().__init__()
        self.con = remanent.connect()
        self.pairs = self.con.kv("pairs")
        self.model = {}

    @rule(key=KEYS, value=VALUES)
    def assign(self, key, value):
        self.pairs[key] = value
        self.model[key] = value

    @rule(key=KEYS)
    def read(self, key):
        assert self.pairs.get(key) == self.model.get(key)
        assert (key in self.pairs) == (key in self.model)

    @rule(key=KEYS)
    def remove(self, key):
        assert self.pairs.pop(key, None) == self.model.pop(key, None)

    @rule(key=KEYS)
    def delete(self, key):
        if key in self.model:
            del self.pairs[key], self.model[key]
        else:
            with pytest.raises(KeyError):
                del self.pairs[key]

    @rule(key=KEYS, value=VALUES)
    def default(self, key, value):
        assert self.pairs.setdefault(key, value) == self.model.setdefault(key, value)

    @rule(pairs=st.dictionaries(KEYS, VALUES))
    def update(self, pairs):
        self.pairs.update(pairs)
        self.model.update(pairs)

    @rule(first=KEYS, end=KEYS)
    def read_range(self, first, end):
        wanted = [pair for pair in sorted(self.model.items()) if first <= pair[0] < end]
        assert list(self.pairs.range(first, end)) == wanted
        assert list(self.pairs.range(first, end, backwards=True)) == wanted[::-1]

    @invariant()
    def all_is_equal(self):
        assert list(self.pairs.items()) == sorted(self.model.items())
        assert list(reversed(self.pairs)) == sorted(self.model, reverse=True)
        assert len(self.pairs) == len(self.model) and bool(self.pairs) == bool(self.model)

    def teardown(self):
        self.con.close()


AgainstDict.TestCase.settings = settings(max_examples=50, stateful_step_count=30, deadline=None)
test_against_a_dict = AgainstDict.TestCase


def test_many_pairs_come_in_order(con):
    pairs = con.kv("many")
    wanted = [(number.to_bytes(4, "big"), b"v" * (number % 50)) for number in range(5000)]
    pairs.update(reversed(wanted))
    assert list(pairs.range()) == wanted
    assert list(pairs.range(backwards=True)) == wanted[::-1]
    first, end = wanted[1000][0], wanted[4000][0]
    assert list(pairs.range(first, end)) == wanted[1000:4000]
    assert list(pairs.range(first, end, backwards=True)) == wanted[1000:4000][::-1]
    assert pairs.popitem() == wanted[0]
    pairs.clear()
    assert len(pairs) == 0 and not pairs
    with pytest.raises(KeyError):
        pairs.popitem()


def test_what_is_read_is_one_snapshot(con):
    pairs = con.kv("s")
    pairs.update((bytes([number]), b"old") for number in range(200))
    reading = pairs.range()
    assert next(reading) == (b"\x00", b"old")
    pairs.clear()
    assert len(list(reading)) == 199
    assert list(pairs) == []


def test_duplicates(con):
    tags = con.kv("tags", duplicates=True)
    for value in (b"rust", b"c", b"rust", b"databases"):
        tags[b"post"] = value
    assert tags.get_all(b"post") == [b"c", b"databases", b"rust"]
    assert tags[b"post"] == b"c" and tags.get_all(b"none") == []
    many = con.kv("m", duplicates=True)
    values = [number.to_bytes(2, "big") for number in range(1000)]
    many.update((b"k", value) for value in values)
    assert [value for _, value in many.range()] == values
    del many[b"k"]
    assert len(many) == 0


def test_without_an_order(con):
    pairs = con.kv("h", ordered=False)
    pairs.update({bytes([number]): b"v" for number in range(200)})
    assert pairs[b"\x07"] == b"v" and sorted(pairs) == [bytes([number]) for number in range(200)]


def test_names_and_other_kinds(con):
    con.kv("a")
    con.kv("b", duplicates=True)
    assert con.kv_names() == ["a", "b"]
    with pytest.raises(remanent.Error):
        con.kv("a", duplicates=True)


@pytest.mark.parametrize("wrong", ["text", 1, None])
def test_what_is_no_bytes(con, wrong):
    pairs = con.kv("t")
    with pytest.raises(TypeError):
        pairs[wrong] = b""
    with pytest.raises(TypeError):
        pairs[b""] = wrong
    assert wrong not in pairs


def test_pairs_are_rows_and_stay(tmp_path):
    with remanent.connect(tmp_path / "db") as con:
        con.kv("words")[b"a"] = b"1"
    with remanent.connect(tmp_path / "db") as con:
        assert dict(con.kv("words")) == {b"a": b"1"}
        assert con.execute("select key, value from words").fetchall() == [(b"a", b"1")]


def test_the_budget_is_a_limit():
    con = remanent.connect(budget="16 MiB")
    pairs = con.kv("large")
    with pytest.raises(remanent.OperationalError) as raised:
        for number in range(1000):
            pairs[number.to_bytes(4, "big")] = b"x" * 100_000
    assert raised.value.sqlstate == "53200"
    assert len(pairs) > 10
    pairs.clear()
    pairs[b"a"] = b"b"


def test_threads_lose_nothing(con):
    pairs = con.kv("n")

    def count(first):
        for number in range(500):
            pairs[first + number.to_bytes(4, "big")] = b"x"

    threads = [threading.Thread(target=count, args=(bytes([n]),)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(pairs) == 2000


def test_what_is_closed_says_so(con):
    pairs = con.kv("c")
    pairs.close()
    with pytest.raises(remanent.InterfaceError):
        pairs[b"a"]


def test_none_is_made_in_a_transaction(con):
    con.execute("create table t (a int)")
    with pytest.raises(remanent.ProgrammingError, match="end it before"):
        con.kv("new")
    con.commit()
    con.kv("new")[b"k"] = b"v"
    con.execute("select * from t")
    assert con.kv("new")[b"k"] == b"v"
