"""Results as Arrow, and Arrow as rows, with the libraries that people have."""

from __future__ import annotations

import datetime as dt
import threading
from decimal import Decimal

import pytest

import remanent

pa = pytest.importorskip("pyarrow")


@pytest.fixture
def typed(con):
    con.execute(
        """create table typed (id int primary key, flag boolean, small smallint, big bigint,
        price numeric(12,2), share double precision, day date, at timestamp, moment timestamptz,
        name text, raw bytea)"""
    )
    con.execute(
        """insert into typed values
        (1, true, -1, 9000000000, 12.50, 0.5, '2026-11-29', '2026-11-29 12:00:00.000001',
         '2026-11-29 12:00:00+02', 'ä text that is longer than twelve bytes', '\\x0001'),
        (2, null, null, null, null, null, null, null, null, null, null)"""
    )
    con.commit()
    return con


def test_a_table_of_pyarrow(typed):
    table = typed.sql("select * from typed order by id").arrow()
    assert table.num_rows == 2
    assert table.column_names[:3] == ["id", "flag", "small"]
    assert table.schema.field("id").type == pa.int32()
    assert table.schema.field("price").type == pa.decimal128(12, 2)
    assert table.schema.field("at").type == pa.timestamp("us")
    row = table.to_pylist()[0]
    assert row["price"] == Decimal("12.50") and row["day"] == dt.date(2026, 11, 29)
    assert row["name"].startswith("ä text") and row["raw"] == b"\x00\x01"
    assert all(value is None for name, value in table.to_pylist()[1].items() if name != "id")


def test_batches_come_as_they_are_asked_for(con):
    reader = con.sql("select * from generate_series(1, 100000) g(n)").fetch_record_batch()
    assert reader.schema.names == ["n"]
    total = sum(batch.num_rows for batch in reader)
    assert total == 100000


def test_rows_are_read_once(typed):
    cur = typed.sql("select id from typed")
    cur.fetchone()
    with pytest.raises(remanent.InterfaceError):
        cur.arrow()
    cur = typed.sql("select id from typed")
    assert cur.arrow().num_rows == 2
    assert cur.fetchall() == []
    with pytest.raises(remanent.ProgrammingError):
        typed.sql("create table other (a int)").arrow()


def test_an_error_in_the_midst_of_batches(con):
    con.execute("create table n (n int); insert into n select * from generate_series(1, 50000)")
    con.commit()
    with pytest.raises(Exception, match="division by zero"):
        con.sql("select 1 / (n - 40000) from n").arrow()
    con.rollback()


def test_frames_of_pandas(typed):
    pd = pytest.importorskip("pandas")
    frame = typed.sql("select id, name, price, at from typed order by id").df()
    assert isinstance(frame, pd.DataFrame) and list(frame["id"]) == [1, 2]
    assert frame["at"][0] == pd.Timestamp("2026-11-29 12:00:00.000001") and pd.isna(frame["at"][1])


def test_frames_of_polars(typed):
    pl = pytest.importorskip("polars")
    frame = typed.sql("select id, name, price from typed order by id").pl()
    assert frame["id"].to_list() == [1, 2] and frame["price"].to_list() == [Decimal("12.50"), None]
    assert isinstance(frame, pl.DataFrame)


def test_what_comes_goes_back(typed):
    table = typed.sql("select * from typed order by id").arrow()
    assert typed.load("copied", table) == 2
    typed.commit()
    again = typed.sql("select * from copied order by id").arrow()
    assert again == table
    # The rows of a statement of the same connection, without a library in between.
    assert typed.load("copied", typed.sql("select * from typed")) == 2
    assert typed.execute("select count(*) from copied").fetchone() == (4,)


def test_columns_are_found_by_their_names(con):
    con.execute("create table t (a int, b text)")
    assert con.load("t", pa.table({"b": ["x"], "a": pa.array([1], pa.int32())})) == 1
    assert con.execute("select a, b from t").fetchall() == [(1, "x")]
    for wrong in ({"a": [1]}, {"a": [1], "c": ["x"]}, {"a": [1], "b": ["x"], "c": [1]}):
        with pytest.raises(remanent.ProgrammingError, match="columns"):
            con.load("t", pa.table(wrong))
    with pytest.raises(remanent.ProgrammingError):
        con.load("missing", pa.table({"a": [1]}), create=False)
    with pytest.raises(remanent.InterfaceError):
        con.load("t", [1, 2])


def test_names_are_taken_as_they_are(con):
    table = pa.table({'Od"d; name': [1], "select": [2]})
    con.load("odd", table)
    assert con.sql("select * from odd").columns == ['Od"d; name', "select"]


def test_a_table_is_named_as_in_sql(con):
    one = pa.table({"a": [1]})
    for name in ("Small", '"Large"', "public.small", '"a b"'):
        con.load(name, one)
    assert con.execute("select count(*) from small").fetchone() == (2,)
    assert con.execute('select count(*) from "Large"').fetchone() == (1,)
    assert con.execute('select count(*) from "a b"').fetchone() == (1,)
    for wrong in ("", "a b", "a; drop table small", "a.b.c", "other.small"):
        with pytest.raises(remanent.DatabaseError):
            con.load(wrong, one)
    assert con.execute("select count(*) from small").fetchone() == (2,)


def test_a_load_is_part_of_its_transaction(con):
    con.load("t", pa.table({"a": list(range(200000))}))
    con.rollback()
    with pytest.raises(remanent.ProgrammingError):
        con.execute("select * from t")
    con.rollback()
    con.load("t", pa.table({"a": list(range(200000))}))
    con.commit()
    assert con.execute("select count(*), sum(a) from t").fetchone() == (200000, 19999900000)


def test_a_stream_that_fails(con):
    schema = pa.schema([("a", pa.int64())])

    def batches():
        yield pa.record_batch([pa.array([1])], schema=schema)
        raise OSError("the source is gone")

    with pytest.raises(remanent.Error, match="the source is gone"):
        con.load("t", pa.RecordBatchReader.from_batches(schema, batches()))
    con.rollback()


def test_a_load_that_fails_leaves_nothing(con):
    con.autocommit = True
    schema = pa.schema([("a", pa.int64())])

    def batches():
        for _ in range(3):
            yield pa.record_batch([pa.array(range(100_000))], schema=schema)
        raise OSError("the source is gone")

    with pytest.raises(remanent.Error, match="the source is gone"):
        con.load("t", pa.RecordBatchReader.from_batches(schema, batches()))
    assert not con.in_transaction
    with pytest.raises(remanent.ProgrammingError):
        con.execute("select * from t")


def test_a_load_from_a_slow_source_is_cancelled(con):
    schema = pa.schema([("a", pa.int64())])
    begun, stop = threading.Event(), threading.Event()

    def batches():
        yield pa.record_batch([pa.array([1])], schema=schema)
        begun.set()
        while True:
            # It is cancelled here, where no statement runs.
            stop.wait(0.01)
            yield pa.record_batch([pa.array([1])], schema=schema)

    def cancel():
        begun.wait()
        con.cancel()

    thread = threading.Thread(target=cancel)
    thread.start()
    with pytest.raises(remanent.OperationalError) as raised:
        con.load("t", pa.RecordBatchReader.from_batches(schema, batches()))
    thread.join()
    assert raised.value.sqlstate == "57014"


def test_a_constraint_that_a_load_breaks(con):
    con.execute("create table t (a bigint primary key)")
    con.commit()
    with pytest.raises(remanent.IntegrityError):
        con.load("t", pa.table({"a": [1, 2, 1]}))
    con.rollback()
    assert con.execute("select count(*) from t").fetchone() == (0,)


def test_frames_are_loaded(con):
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    con.load("p", pd.DataFrame({"a": [1, 2], "b": ["x", None]}))
    con.load("q", pl.DataFrame({"a": [1, 2], "b": ["x", None]}))
    wanted = [(1, "x"), (2, None)]
    assert con.execute("select * from p order by a").fetchall() == wanted
    assert con.execute("select * from q order by a").fetchall() == wanted


def test_a_reader_in_another_thread(con):
    reader = con.sql("select * from generate_series(1, 10000)").fetch_record_batch()
    read = []
    thread = threading.Thread(target=lambda: read.append(reader.read_all().num_rows))
    thread.start()
    thread.join()
    assert read == [10000]


def test_a_notebook_shows_rows(con):
    con.execute("create table t (a int, b text)")
    con.execute("insert into t values (1, '<b>')")
    cur = con.sql("select * from t")
    assert "<td>&lt;b&gt;</td>" in cur._repr_html_()
    assert cur.fetchall() == [(1, "<b>")]
    assert con.execute("delete from t")._repr_html_() is None
