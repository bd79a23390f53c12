"""Values go in and come out as they are."""

from __future__ import annotations

import datetime as dt
import math
import uuid
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import remanent

CON = remanent.connect(autocommit=True)

NUMBERS = st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**20), max_value=10**20)
# Microseconds of the years that Python has.
MOMENTS = st.datetimes()
TYPES = {
    "boolean": st.booleans(),
    "smallint": st.integers(-(2**15), 2**15 - 1),
    "int": st.integers(-(2**31), 2**31 - 1),
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "double precision": st.floats(allow_nan=False),
    "numeric(38,6)": NUMBERS,
    "text": st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",))),
    "bytea": st.binary(),
    "date": st.dates(),
    "time": st.times(),
    "timestamp": MOMENTS,
    "timestamptz": st.datetimes(timezones=st.just(dt.timezone.utc)),
    "uuid": st.uuids(),
    "int[]": st.lists(st.integers(-(2**31), 2**31 - 1)),
}


@pytest.mark.parametrize("of", TYPES)
def test_values_of_each_type(of):
    CON.execute(f'create table "{of}" (id int primary key, v {of})')

    @given(st.lists(st.one_of(st.none(), TYPES[of]), min_size=1, max_size=5))
    def round_trip(values):
        CON.execute(f'delete from "{of}"')
        CON.executemany(f'insert into "{of}" values (?, ?)', list(enumerate(values)))
        rows = CON.execute(f'select v from "{of}" order by id').fetchall()
        assert [row[0] for row in rows] == values
        # By the way for one key, too.
        assert CON.execute(f'select v from "{of}" where id = ?', (0,)).fetchone() == (values[0],)

    round_trip()


@pytest.mark.parametrize(
    "value",
    [True, 5, -(2**63), 2**64 - 1, 10**30, 1.5, Decimal("1.50"), Decimal("1E+3"), Decimal("-0.001"), "text", b"\x00"]
    + [dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.time(23, 59, 59, 999999)]
    + [dt.datetime(1, 1, 1), dt.datetime(2026, 11, 29, 12, 0, 0, 1), dt.timedelta(days=-3, hours=5)]
    + [[1, 2, None], ["a", "b"]],
)
def test_a_value_by_itself_has_its_type(value):
    assert CON.execute("select ?", (value,)).fetchone() == (value,)
    assert type(CON.execute("select ?", (value,)).fetchone()[0]) in (type(value), int, Decimal)


def test_values_that_become_others():
    one = lambda sql, *given: CON.execute(sql, given).fetchone()[0]  # noqa: E731
    assert one("select ?", None) is None
    assert math.isnan(one("select ?::float8", math.nan))
    assert one("select 0.1::real") == 0.1
    east = dt.timezone(dt.timedelta(hours=2))
    moment = dt.datetime(2026, 1, 1, 2, tzinfo=east)
    assert one("select ?", moment) == moment
    assert one("select ?::timestamptz", moment).tzinfo == dt.timezone.utc
    CON.execute("create table document (id int, v json)")
    CON.execute("insert into document values (1, ?)", ({"a": [1, None]},))
    assert one("select v from document") == {"a": [1, None]}
    number = uuid.uuid4()
    CON.execute("create table thing (id uuid primary key)")
    CON.execute("insert into thing values (?)", (number,))
    assert one("select id from thing where id = ?", number) == number
    assert one("select interval '1 year 2 months 3 days 4 seconds'") == dt.timedelta(days=365 + 60 + 3, seconds=4)
    assert one("select ?", bytearray(b"ab")) == b"ab"
    assert one("select ?", memoryview(b"ab")) == b"ab"


def test_values_of_numpy_and_pandas():
    np = pytest.importorskip("numpy")
    pd = pytest.importorskip("pandas")
    one = lambda value: CON.execute("select ?", (value,)).fetchone()[0]  # noqa: E731
    assert one(np.int64(5)) == 5
    assert one(np.float32(0.5)) == 0.5
    assert one(np.bool_(True)) is True
    assert one(np.array([1, 2])) == [1, 2]
    assert one(np.datetime64("2026-01-01T00:00:00.123456789")) == dt.datetime(2026, 1, 1, 0, 0, 0, 123456)
    assert one(pd.Timestamp("2026-01-01")) == dt.datetime(2026, 1, 1)
    assert one(pd.NaT) is None and one(pd.NA) is None


@pytest.mark.parametrize(
    ("of", "value"),
    [
        ("smallint", 2**15),
        ("int", 2**31),
        ("int", "x"),
        ("numeric(4,2)", Decimal("100")),
        ("date", "not a day"),
        ("varchar(2)", "abc"),
        ("text", "a\0b"),
    ],
)
def test_values_that_do_not_fit(of, value):
    CON.execute(f"drop table if exists w; create table w (v {of})")
    with pytest.raises(remanent.DataError):
        CON.execute("insert into w values (?)", (value,))
    assert CON.execute("select count(*) from w").fetchone() == (0,)


@pytest.mark.parametrize(
    "value",
    [{"a": object()}, {"a": math.nan}, Decimal("NaN"), Decimal("Infinity"), Decimal(10) ** 39, Decimal("1e-39"), dt.time(1, tzinfo=dt.timezone.utc)],
)
def test_values_that_sql_has_not(value):
    with pytest.raises(remanent.DataError):
        CON.execute("select ?", (value,))


def test_dates_that_python_has_not():
    for text in ("date '10000-01-01'", "timestamp '10000-01-01 00:00:00'"):
        with pytest.raises(remanent.DataError):
            CON.execute(f"select {text}").fetchone()


def test_lists_that_contain_themselves():
    endless = []
    endless.append(endless)
    with pytest.raises(remanent.DataError):
        CON.execute("select ?", (endless,))


def test_statements_nested_too_deep():
    with pytest.raises(remanent.Error):
        CON.execute("select " + "(" * 20000 + "1" + ")" * 20000)
    assert CON.execute("select " + "(" * 40 + "1" + ")" * 40).fetchone() == (1,)
