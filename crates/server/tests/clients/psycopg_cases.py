"""psycopg 3 against a server that the variables of libpq name.

What differs from PostgreSQL stands in a comment beside the answer that is asserted.
"""

import contextlib
import datetime as dt
import decimal
import threading
import time
import uuid

import psycopg
from psycopg import errors
from psycopg.rows import dict_row
from psycopg.types import TypeInfo
from psycopg.types.json import Json

from cases import case, run

UTC = dt.timezone.utc
VALUES = [
    ("boolean", True),
    ("smallint", -32768),
    ("integer", 2**31 - 1),
    ("bigint", -(2**63)),
    ("real", 1.5),
    ("double precision", -2.25e-300),
    ("numeric(20,4)", decimal.Decimal("-1234567890.0500")),
    ("text", "gr\u00fcn 'and' \"so\" \\ on\n"),
    ("varchar(9)", "nine char"),
    ("char(3)", "ab "),
    ("bytea", bytes(range(256))),
    ("date", dt.date(1999, 12, 31)),
    ("time", dt.time(23, 59, 59, 999999)),
    ("timestamp", dt.datetime(1969, 7, 20, 20, 17, 40, 123456)),
    ("timestamptz", dt.datetime(2024, 2, 29, 12, 0, 0, 1, tzinfo=UTC)),
    ("uuid", uuid.UUID("123e4567-e89b-12d3-a456-426614174000")),
    ("json", {"a": [1, None, "x"]}),
    ("jsonb", [{"b": 2.5}]),
    ("int[]", [1, 2, -3]),  # elements in tables are never NULL here
    ("float8[]", [1.5, -0.25]),
]


def adapted(sql_type, value):
    return Json(value) if sql_type.startswith("json") else value


@case
def values_of_all_types_as_text_and_binary(conn):
    columns = ", ".join(f"c{i} {t}" for i, (t, _) in enumerate(VALUES))
    conn.execute(f"create table v (id int primary key, {columns})")
    for number, mark in enumerate(["%s", "%t", "%b"]):
        marks = ", ".join([mark] * len(VALUES))
        given = [adapted(t, value) for t, value in VALUES]
        if mark == "%b":  # psycopg has no binary form of a number of unknown size
            marks = ", ".join(f"%b::{t}" if t != "json" else "%t" for t, _ in VALUES)
        conn.execute(f"insert into v values ({number}, {marks})", given)
    nulls = ", ".join(["%s"] * len(VALUES))
    conn.execute(f"insert into v values (3, {nulls})", [None] * len(VALUES))
    for binary in (False, True):
        rows = conn.execute("select * from v order by id", binary=binary).fetchall()
        for row in rows[:3]:
            for (sql_type, wanted), found in zip(VALUES, row[1:]):
                assert found == wanted, (sql_type, binary, row[0], wanted, found)
                assert type(found) is type(wanted), (sql_type, found)
        assert set(rows[3][1:]) == {None}


@case
def values_that_no_column_has(conn):
    for binary in (False, True):
        cursor = conn.cursor(binary=binary)
        row = cursor.execute(
            "select %s::interval, %s::text[], interval '1 day 2 hours', array['a', null, 'b c'], "
            "array[]::int[], 'NaN'::float8, '-Infinity'::float8, count(*), sum(x), avg(x) "
            "from (values (1), (2)) v (x)",
            [dt.timedelta(days=3, seconds=5), ["x", 'y"', None, ""]],
        ).fetchone()
        assert row[:5] == (
            dt.timedelta(days=3, seconds=5),
            ["x", 'y"', None, ""],
            dt.timedelta(days=1, hours=2),
            ["a", None, "b c"],
            [],
        ), row
        assert row[5] != row[5] and row[6] == float("-inf"), row
        assert row[7:9] == (2, 3) and row[9] == decimal.Decimal("1.5"), row


@case
def columns_are_described(conn):
    conn.execute("create table d (a int, b varchar(7), c numeric(8,3), d timestamptz)")
    cursor = conn.execute("select *, 1 as one, 'x' as x from d")
    shown = [(c.name, c.type_code, c.display_size, c.precision, c.scale) for c in cursor.description]
    assert shown == [
        ("a", 23, None, None, None),
        ("b", 1043, 7, None, None),
        ("c", 1700, None, 8, 3),
        ("d", 1184, None, None, None),
        ("one", 23, None, None, None),
        ("x", 25, None, None, None),
    ], shown
    assert [c.internal_size for c in cursor.description[:4]] == [4, None, None, 8]


@case
def rows_as_dictionaries(conn):
    cursor = conn.cursor(row_factory=dict_row)
    assert cursor.execute("select 1 as a, null as b").fetchall() == [{"a": 1, "b": None}]


@case
def a_cursor_of_the_server_in_a_block(conn):
    conn.execute("create table s (a int primary key)")
    conn.cursor().executemany("insert into s values (%s)", [(i,) for i in range(1000)])
    with conn.transaction():
        with conn.cursor("walk") as cursor:
            cursor.itersize = 64
            cursor.execute("select a from s where a >= %s order by a", [10])
            assert cursor.fetchone() == (10,)
            assert cursor.fetchmany(3) == [(11,), (12,), (13,)]
            cursor.scroll(6)
            assert cursor.fetchone() == (20,)
            assert [row[0] for row in cursor] == list(range(21, 1000))
            assert cursor.fetchall() == []
        with conn.cursor("walk", binary=True) as cursor:
            cursor.execute("select a, 'x' || a from s order by a limit 2")
            assert [c.name for c in cursor.description] == ["a", "?column?"]
            assert cursor.fetchall() == [(0, "x0"), (1, "x1")]
    with conn.cursor("held", withhold=True) as cursor:
        cursor.execute("select a from s order by a")
        assert cursor.fetchone() == (0,)
        conn.execute("delete from s")
        assert len(cursor.fetchall()) == 999
    with psycopg.ClientCursor(conn) as cursor:
        refused(errors.InvalidCursorName, lambda: cursor.execute("fetch all from walk"))
        refused(
            errors.NoActiveSqlTransaction,
            lambda: cursor.execute("declare c cursor for select 1"),
        )


@case
def copy_in_and_out(conn):
    conn.execute("create table c (a int primary key, b text, d timestamp)")
    moment = dt.datetime(2020, 1, 2, 3, 4, 5)
    cursor = conn.cursor()
    with cursor.copy("copy c (a, b, d) from stdin") as copy:
        for i in range(5000):
            copy.write_row((i, None if i % 7 == 0 else f"t\t{i}\\\n", moment))
    assert cursor.rowcount == 5000
    with cursor.copy("copy c to stdout") as copy:
        copy.set_types(["int4", "text", "timestamp"])
        rows = sorted(copy.rows())
    assert rows[1] == (1, "t\t1\\\n", moment) and rows[7] == (7, None, moment)
    assert len(rows) == 5000
    with cursor.copy("copy (select a, b from c where a < 2) to stdout (format csv, header)") as copy:
        text = b"".join(copy).decode()
    assert text == 'a,b\n0,\n1,"t\t1\\\n"\n', text
    with cursor.copy("copy c (a, b) from stdin (format csv)") as copy:
        copy.write('9000,"a ""quoted"", one"\n9001,\n')
    found = conn.execute("select a, b from c where a >= 9000 order by a").fetchall()
    assert found == [(9000, 'a "quoted", one'), (9001, None)], found

    def breaks_a_key():
        with cursor.copy("copy c (a) from stdin") as copy:
            copy.write("9002\n1\n")

    refused(errors.UniqueViolation, breaks_a_key)

    def gives_up():
        with cursor.copy("copy c (a) from stdin") as copy:
            copy.write("9003\n")
            raise ZeroDivisionError

    refused(ZeroDivisionError, gives_up)
    assert conn.execute("select count(*) from c where a > 9001").fetchone() == (0,)


@case
def copy_in_and_out_in_binary(conn):
    columns = ", ".join(f"c{i} {t}" for i, (t, _) in enumerate(VALUES))
    conn.execute(f"create table b (id int primary key, {columns})")
    inner = {"int[]": "int4[]", "char(3)": "text", "double precision": "float8"}
    names = ["int4"] + [inner.get(t, t.split("(")[0]) for t, _ in VALUES]
    row = (1, *(adapted(t, value) for t, value in VALUES))
    cursor = conn.cursor()
    with cursor.copy("copy b from stdin (format binary)") as copy:
        copy.set_types(names)
        copy.write_row(row)
        copy.write_row((2, *[None] * len(VALUES)))
    with cursor.copy("copy (select * from b order by id) to stdout (format binary)") as copy:
        if REMANENT:  # JSONB is another name of JSON
            names = [name.replace("jsonb", "json") for name in names]
        copy.set_types(names)
        found = list(copy.rows())
    assert found == [(1, *(v for _, v in VALUES)), (2, *[None] * len(VALUES))], found

    def is_cut_short():
        with cursor.copy("copy b from stdin (format binary)") as copy:
            copy.write(b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0\0\x01\0\0")

    refused(errors.BadCopyFileFormat, is_cut_short)


@case
def pipelines(conn):
    conn.execute("create table p (a int primary key)")
    with conn.pipeline() as pipeline:
        for i in range(100):
            conn.execute("insert into p values (%s)", [i])
        count = conn.execute("select count(*) from p")
        pipeline.sync()
        assert count.fetchone() == (100,)

    def fails_in_the_middle():
        with conn.pipeline():
            conn.execute("insert into p values (200)")
            conn.execute("insert into p values (1)")
            conn.execute("insert into p values (201)")

    refused(errors.UniqueViolation, fails_in_the_middle)
    assert conn.execute("select count(*) from p where a = 201").fetchone() == (0,)
    with conn.pipeline(), conn.transaction():
        cursors = [conn.execute("select a from p where a = %s", [i]) for i in range(20)]
        assert [cursor.fetchone() for cursor in cursors] == [(i,) for i in range(20)]


@case
def prepared_statements(conn):
    conn.execute("create table q (a int primary key, b text)")
    conn.prepare_threshold = 2
    for i in range(10):
        conn.execute("insert into q values (%s, %s)", [i, f"n{i}"])
        assert conn.execute("select b from q where a = %s", [i]).fetchone() == (f"n{i}",)
    conn.execute("select count(*) from q where b like %s", ["n%"], prepare=True)
    conn.execute("alter table q add column c int default 7")
    found = conn.execute("select b, c from q where a = %s", [3]).fetchone()
    assert found == ("n3", 7), found
    found = conn.execute("select b from q where a = %s", [4]).fetchone()
    assert found == ("n4",), found
    conn.execute("deallocate all")
    conn.execute("prepare plan as select b from q where a = $1")
    assert conn.execute("execute plan (5)").fetchone() == ("n5",)
    refused(errors.InvalidSqlStatementName, lambda: conn.execute("execute other (5)"))


@case
def blocks_within_blocks(conn):
    conn.execute("create table t (a int primary key)")
    status = psycopg.pq.TransactionStatus
    with conn.transaction():
        assert conn.info.transaction_status == status.INTRANS
        conn.execute("insert into t values (1)")

        def fails():
            with conn.transaction():
                conn.execute("insert into t values (2)")
                conn.execute("insert into t values (1)")

        refused(errors.UniqueViolation, fails)
        with conn.transaction("named"):
            conn.execute("insert into t values (3)")
        with conn.transaction(force_rollback=True):
            conn.execute("insert into t values (4)")
    assert conn.info.transaction_status == status.IDLE
    assert conn.execute("select a from t order by a").fetchall() == [(1,), (3,)]
    conn.autocommit = False
    conn.execute("insert into t values (5)")
    conn.rollback()
    conn.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    conn.read_only = True
    refused(errors.ReadOnlySqlTransaction, lambda: conn.execute("insert into t values (6)"))
    conn.rollback()
    assert conn.execute("select a from t order by a").fetchall() == [(1,), (3,)]
    assert conn.execute("show transaction_isolation").fetchone() == ("repeatable read",)
    conn.rollback()


@case
def an_error_in_a_block(conn):
    conn.execute("create table e (a int primary key)")
    conn.autocommit = False
    conn.execute("insert into e values (1)")
    refused(errors.UniqueViolation, lambda: conn.execute("insert into e values (1)"))
    # PostgreSQL says INERROR and refuses what follows; here the statement alone is undone.
    if REMANENT:
        assert conn.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS
        assert conn.execute("select count(*) from e").fetchone() == (1,)
    conn.rollback()
    assert conn.execute("select count(*) from e").fetchone() == (0,)
    conn.commit()
    conn.autocommit = True

    def is_left_by_its_error():
        with conn.transaction():
            conn.execute("insert into e values (2)")
            conn.execute("select 1 / 0")

    refused(errors.DivisionByZero, is_left_by_its_error)
    with psycopg.connect() as other:
        assert other.execute("select count(*) from e").fetchone() == (0,)


@case
def errors_by_their_states(conn):
    conn.execute("create table r (a int primary key, b varchar(3), c int not null default 0)")
    conn.execute("create table s (a int constraint of_r references r, check (a > 0))")
    conn.execute("insert into r values (1)")
    for wanted, text in [
        (errors.SyntaxError, "selct 1"),
        (errors.UndefinedTable, "select * from nowhere"),
        (errors.UndefinedColumn, "select nothing from r"),
        (errors.UndefinedFunction, "select nothing(1)"),
        (errors.UndefinedObject, "select 1::nothing"),
        (errors.DuplicateTable, "create table r (a int)"),
        (errors.DuplicateColumn, "create table x (a int, a int)"),
        (errors.DivisionByZero, "select 1 / 0"),
        (errors.NumericValueOutOfRange, "select 9223372036854775807 + 1"),
        (errors.InvalidTextRepresentation, "select 'x'::int"),
        (errors.InvalidDatetimeFormat, "select 'x'::date"),
        (errors.StringDataRightTruncation, "insert into r (a, b) values (2, 'four')"),
        (errors.UniqueViolation, "insert into r values (1)"),
        (errors.NotNullViolation, "insert into r values (2, 'a', null)"),
        (errors.ForeignKeyViolation, "insert into s values (7)"),
        (errors.CheckViolation, "insert into s values (-1)"),
        (errors.CardinalityViolation, "select (select a from (values (1), (2)) v (a))"),
        *([(errors.FeatureNotSupported, "lock table r")] if REMANENT else []),
        (errors.InvalidParameterValue, "set statement_timeout = 'soon'"),
        (errors.UndefinedObject, "set nothing = 1"),
        (errors.NoActiveSqlTransaction, "savepoint s"),
        (errors.UndefinedParameter, "select $1"),
    ]:
        error = refused(wanted, lambda: conn.execute(text))
        assert error.sqlstate == wanted.sqlstate, (text, error.sqlstate)
    error = refused(errors.UniqueViolation, lambda: conn.execute("insert into r values (1)"))
    found = (error.diag.severity, error.diag.table_name, error.diag.constraint_name)
    assert found == ("ERROR", "r", "r_pkey"), found
    error = refused(errors.ForeignKeyViolation, lambda: conn.execute("insert into s values (7)"))
    assert error.diag.constraint_name == "of_r", error.diag.constraint_name
    error = refused(errors.NotNullViolation, lambda: conn.execute("insert into r values (3, '', null)"))
    assert error.diag.column_name == "c", error.diag.column_name
    error = refused(errors.SyntaxError, lambda: conn.execute("select 1 frm r"))
    assert error.diag.statement_position is not None


@case
def a_conflict_is_told_and_tried_again(conn):
    conn.execute("create table w (a int primary key, b int)")
    conn.execute("insert into w values (1, 0)")
    with psycopg.connect() as other:
        other.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
        conn.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
        other.execute("update w set b = b + 1 where a = 1")

        def second():
            with conn.transaction():
                conn.execute("select b from w")
                other.commit()
                conn.execute("update w set b = b + 1 where a = 1")

        refused(errors.SerializationFailure, second)
    assert conn.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
    with conn.transaction():
        conn.execute("update w set b = b + 1 where a = 1")
    assert conn.execute("select b from w").fetchone() == (2,)


@case
def notices(conn):
    heard = []
    conn.add_notice_handler(lambda diag: heard.append((diag.severity, diag.sqlstate)))
    conn.execute("rollback")
    conn.execute("begin")
    conn.execute("begin")
    conn.execute("rollback")
    assert heard == [("WARNING", "25P01"), ("WARNING", "25001")], heard


@case
def types_by_name(conn):
    info = TypeInfo.fetch(conn, "uuid")
    assert (info.name, info.oid, info.array_oid) == ("uuid", 2950, 2951), info
    assert TypeInfo.fetch(conn, "hstore") is None
    assert TypeInfo.fetch(conn, "int4").regtype == "integer"


@case
def what_a_connection_knows(conn):
    info = conn.info
    assert info.server_version >= 150000
    assert info.encoding == "utf-8"
    assert info.parameter_status("standard_conforming_strings") == "on"
    assert info.parameter_status("integer_datetimes") == "on"
    conn.execute("set application_name = 'cases'")
    assert info.parameter_status("application_name") == "cases"
    assert conn.execute("select current_setting('application_name')").fetchone() == ("cases",)
    assert conn.execute("select current_user").fetchone() == (info.user,)
    assert conn.execute("select pg_backend_pid()").fetchone() == (info.backend_pid,)


@case
def several_statements_and_results(conn):
    conn.execute("create table m (a int primary key)")
    cursor = conn.execute("insert into m values (1); select a from m; select 'x'")
    assert cursor.statusmessage == "INSERT 0 1" and cursor.nextset()
    assert cursor.fetchall() == [(1,)] and cursor.nextset()
    assert cursor.fetchall() == [("x",)] and not cursor.nextset()
    cursor.executemany("insert into m values (%s) returning a", [(2,), (3,)], returning=True)
    found = [cursor.fetchone()]
    while cursor.nextset():
        found.append(cursor.fetchone())
    assert found == [(2,), (3,)]


@case
def cancelling(conn):
    conn.execute("create table k (a int primary key)")
    conn.cursor().executemany("insert into k values (%s)", [(i,) for i in range(3000)])
    timer = threading.Timer(0.5, conn.cancel_safe)
    timer.start()
    begun = time.monotonic()
    text = "select count(*) from k x, k y, k z where x.a + y.a > z.a"
    refused(errors.QueryCanceled, lambda: conn.execute(text))
    timer.join()
    assert time.monotonic() - begun < 10
    conn.execute("set statement_timeout = 100")
    refused(errors.QueryCanceled, lambda: conn.execute(text))
    conn.execute("reset statement_timeout")
    assert conn.execute("select 1").fetchone() == (1,)


@case
def notifications(conn):
    conn.execute("listen news")
    with psycopg.connect(autocommit=True) as other:
        timer = threading.Timer(0.3, lambda: other.execute("notify news, 'late'"))
        timer.start()
        found = [(n.channel, n.payload) for n in conn.notifies(timeout=20, stop_after=1)]
        timer.join()
        assert found == [("news", "late")]
        other.execute("select pg_notify('news', i::text) from generate_series(1, 3) as g(i)")
        found = [n.payload for n in conn.notifies(timeout=20, stop_after=3)]
        assert found == ["1", "2", "3"]
        conn.execute("unlisten *")
        other.execute("notify news")
        assert not list(conn.notifies(timeout=0.2))


def refused(wanted, call):
    """What a call that has to fail failed with."""
    try:
        call()
    except wanted as error:
        return error
    raise AssertionError(f"{wanted.__name__} was not raised")


@contextlib.contextmanager
def fresh():
    """A connection that commits by itself, to a database without tables."""
    with psycopg.connect(autocommit=True) as conn:
        yield conn
        conn.rollback()
    with psycopg.connect(autocommit=True) as conn:
        for (name,) in conn.execute("select tablename from pg_tables where schemaname = 'public'"):
            conn.execute(f'drop table if exists "{name}" cascade')


with psycopg.connect() as first:
    REMANENT = "Remanent" in first.execute("select version()").fetchone()[0]
run("psycopg", fresh)
