"""DB-API 2.0, as PEP 249 has it."""

from __future__ import annotations

import datetime
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import remanent


def test_the_module_says_what_it_is():
    assert remanent.apilevel == "2.0"
    assert remanent.threadsafety == 2
    assert remanent.paramstyle == "qmark"
    for name in remanent.__all__:
        assert hasattr(remanent, name), name


def test_exceptions_are_of_the_hierarchy():
    assert issubclass(remanent.Error, Exception)
    assert issubclass(remanent.Warning, Exception)
    assert not issubclass(remanent.Warning, remanent.Error)
    assert issubclass(remanent.InterfaceError, remanent.Error)
    for name in (
        "DataError OperationalError IntegrityError InternalError ProgrammingError NotSupportedError"
    ).split():
        assert issubclass(getattr(remanent, name), remanent.DatabaseError), name
        assert getattr(remanent.Connection, name) is getattr(remanent, name)
    assert issubclass(remanent.ConflictError, remanent.OperationalError)


def test_rows_come_one_by_one_some_and_all(parts):
    cur = parts.cursor()
    cur.execute("select id from part order by id")
    assert cur.fetchone() == (1,)
    assert cur.fetchmany() == [(2,)]
    assert cur.fetchmany(5) == [(3,)]
    assert cur.fetchmany(5) == [] and cur.fetchall() == [] and cur.fetchone() is None
    cur.execute("select id from part order by id")
    assert list(cur) == [(1,), (2,), (3,)]
    cur.arraysize = 2
    assert cur.execute("select id from part order by id").fetchmany() == [(1,), (2,)]


def test_many_rows_come_in_order(con):
    cur = con.execute("select * from generate_series(1, 100000)")
    assert cur.fetchone() == (1,)
    assert cur.fetchmany(1000)[-1] == (1001,)
    rows = cur.fetchall()
    assert len(rows) == 100000 - 1001 and rows[0] == (1002,) and rows[-1] == (100000,)


def test_a_description_names_types(parts):
    cur = parts.execute("select id, name, price, current_date as day, ''::bytea as b from part")
    assert [column[0] for column in cur.description] == ["id", "name", "price", "day", "b"]
    kinds = [column[1] for column in cur.description]
    assert kinds[0] == remanent.NUMBER and kinds[0] != remanent.STRING
    assert kinds[1] == remanent.STRING and kinds[1] == "text"
    assert kinds[2] == remanent.NUMBER and cur.description[2][4:6] == (10, 2)
    assert kinds[3] == remanent.DATETIME and kinds[4] == remanent.BINARY
    assert parts.execute("delete from part").description is None


def test_rowcount_counts_changes(parts):
    assert parts.execute("update part set name = 'x' where id < 3").rowcount == 2
    assert parts.execute("select * from part").rowcount == -1
    cur = parts.executemany("delete from part where id = ?", [(1,), (2,), (9,)])
    assert cur.rowcount == 2


def test_parameters_by_place_and_by_name(parts):
    sql = "select name from part where id = {} or name = {}"
    wanted = [("bolt",), ("nut",)]
    for text, given in [
        (sql.format("?", "?"), (1, "nut")),
        (sql.format("$1", "$2"), [1, "nut"]),
        (sql.format("$2", "$1"), ["nut", 1]),
        (sql.format(":id", ":name"), {"id": 1, "name": "nut", "other": None}),
        (sql.format("$id", "$name"), {"id": 1, "name": "nut"}),
    ]:
        assert sorted(parts.execute(text, given)) == wanted, text
    twice = parts.execute("select :a::text || :b::text || :a", {"a": "x", "b": "y"})
    assert twice.fetchone() == ("xyx",)


def test_question_marks_elsewhere_are_no_parameters(parts):
    text = """select '?', "na?me", /* ? */ $$?$$, E'\\'?', name -- ?
        from (select name, name as "na?me" from part where id = ?) p"""
    assert parts.execute(text, (1,)).fetchone() == ("?", "bolt", "?", "'?", "bolt")
    text = "select 'ä:b', array[1,2,3][1:2], '1'::int + :ä_1"
    assert parts.execute(text, {"ä_1": 1}).fetchone() == ("ä:b", [1, 2], 2)


@pytest.mark.parametrize(
    ("parameters", "raised"),
    [
        ((), remanent.ProgrammingError),
        ((1, 2), remanent.ProgrammingError),
        ({"b": 1}, remanent.ProgrammingError),
        ("1", remanent.InterfaceError),
        (1, remanent.InterfaceError),
        ((object(),), remanent.ProgrammingError),
        (("\ud800",), remanent.DataError),
        ((10**40,), remanent.DataError),
    ],
)
def test_parameters_that_are_wrong(parts, parameters, raised):
    mark = ":a" if isinstance(parameters, dict) else "?"
    with pytest.raises(raised):
        parts.execute(f"select * from part where id = {mark}", parameters)
    # The transaction goes on.
    assert parts.execute("select count(*) from part").fetchone() == (3,)


def test_errors_say_what_they_are_about(parts):
    with pytest.raises(remanent.IntegrityError) as raised:
        parts.execute("insert into part values (1, 'again', 0)")
    error = raised.value
    assert error.sqlstate == "23505"
    assert error.table_name == "part" and error.constraint_name == "part_pkey"
    assert error.message in str(error) and error.detail in str(error)
    with pytest.raises(remanent.ProgrammingError) as raised:
        parts.execute("select nam from part")
    assert raised.value.sqlstate == "42703" and "part.name" in raised.value.hint
    parts.rollback()
    with pytest.raises(remanent.ProgrammingError) as raised:
        parts.execute("select nam frm part where")
    assert raised.value.sqlstate == "42601" and raised.value.position == 16
    with pytest.raises(remanent.DataError):
        parts.execute("select 1 / 0")
    with pytest.raises(remanent.NotSupportedError):
        parts.execute("create domain d as int")


def test_a_transaction_begins_by_itself(parts):
    other = parts.connect()
    parts.execute("delete from part")
    assert parts.in_transaction
    assert other.execute("select count(*) from part").fetchone() == (3,)
    other.rollback()
    parts.rollback()
    assert not parts.in_transaction
    assert parts.execute("select count(*) from part").fetchone() == (3,)
    parts.execute("delete from part where id = 1")
    parts.commit()
    assert other.execute("select count(*) from part").fetchone() == (2,)


def test_autocommit(parts):
    parts.autocommit = True
    parts.execute("delete from part where id = 1")
    assert not parts.in_transaction
    assert parts.connect().execute("select count(*) from part").fetchone() == (2,)
    parts.begin()
    parts.execute("delete from part")
    with pytest.raises(remanent.ProgrammingError):
        parts.autocommit = False
    parts.rollback()
    parts.autocommit = False


def test_transactions_in_transactions_are_savepoints(parts):
    with parts.transaction():
        parts.execute("delete from part where id = 1")
        with pytest.raises(ZeroDivisionError), parts.transaction():
            parts.execute("delete from part")
            1 / 0
        with parts.transaction():
            parts.execute("delete from part where id = 2")
    assert not parts.in_transaction
    assert parts.execute("select id from part").fetchall() == [(3,)]
    parts.commit()
    with pytest.raises(remanent.IntegrityError), parts.transaction():
        parts.execute("insert into part values (4, 'x', 0)")
        parts.execute("insert into part values (4, 'x', 0)")
    assert parts.execute("select id from part").fetchall() == [(3,)]


def test_work_is_run_again_after_a_conflict(parts):
    other = parts.connect(autocommit=True)
    tried = []

    def work(con):
        name = con.execute("select name from part where id = 1").fetchone()[0]
        tried.append(name)
        if len(tried) == 1:
            other.execute("update part set name = 'other' where id = 1")
        con.execute("update part set name = ? where id = 1", (name + "!",))

    parts.run(work)
    assert tried == ["bolt", "other"]
    assert other.execute("select name from part where id = 1").fetchone() == ("other!",)


def test_a_conflict_has_its_own_exception(parts):
    other = parts.connect(autocommit=True)
    parts.execute("select * from part").fetchall()
    other.execute("update part set name = 'other' where id = 1")
    with pytest.raises(remanent.ConflictError) as raised:
        parts.execute("update part set name = 'mine' where id = 1")
    assert raised.value.sqlstate == "40001"
    with pytest.raises(remanent.InternalError):
        parts.commit()
    parts.rollback()


def test_a_context_commits_or_rolls_back_and_closes(tmp_path):
    with remanent.connect(tmp_path / "db") as con:
        con.execute("create table t (a int)")
        con.execute("insert into t values (1)")
    assert con.closed
    with pytest.raises(ZeroDivisionError), remanent.connect(tmp_path / "db") as con:
        con.execute("insert into t values (2)")
        1 / 0
    with remanent.connect(tmp_path / "db") as con:
        assert con.execute("select a from t").fetchall() == [(1,)]


def test_what_is_closed_says_so(parts):
    cur = parts.execute("select * from part")
    other = parts.cursor()
    other.close()
    with pytest.raises(remanent.InterfaceError):
        other.execute("select 1")
    parts.close()
    parts.close()
    for use in (cur.fetchone, parts.cursor, parts.commit, lambda: parts.kv("a"), lambda: cur.df()):
        with pytest.raises(remanent.InterfaceError):
            use()


def test_rows_without_a_query(con):
    cur = con.cursor()
    with pytest.raises(remanent.ProgrammingError):
        cur.fetchone()
    cur.execute("create table t (a int)")
    with pytest.raises(remanent.ProgrammingError):
        cur.fetchall()


def test_several_statements_in_a_text(con):
    cur = con.execute("create table t (a int); insert into t values (1), (2); select a from t")
    assert cur.fetchall() == [(1,), (2,)]
    assert con.execute("").description is None


def test_a_folder_is_one_database_in_a_process(tmp_path):
    first = remanent.connect(tmp_path / "db", budget="64 MiB", durability="os")
    second = remanent.connect(str(tmp_path / "db"))
    first.execute("create table t (a int)")
    first.commit()
    assert second.execute("select count(*) from t").fetchone() == (0,)
    assert first.memory()["budget"] == 64 << 20
    with pytest.raises(remanent.OperationalError):
        remanent.connect(tmp_path / "db", budget="1GB")
    first.close()
    second.close()
    del first, second
    # Another process may have it now.
    program = "import remanent, sys; print(remanent.connect(sys.argv[1]).execute('select * from t').fetchall())"
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "db")], capture_output=True, text=True
    )
    assert done.stdout == "[]\n", done.stderr


def test_pairs_keep_a_folder_open_and_no_one_out(tmp_path):
    con = remanent.connect(tmp_path / "db")
    pairs = con.kv("pairs")
    con.close()
    pairs[b"a"] = b"b"
    with remanent.connect(tmp_path / "db") as again:
        assert again.kv("pairs")[b"a"] == b"b"
        assert again.execute("select count(*) from pairs").fetchone() == (1,)


@pytest.mark.parametrize("wrong", [{"budget": "many"}, {"budget": 0.5}, {"durability": "paper"}])
def test_options_that_are_wrong(wrong):
    with pytest.raises((ValueError, TypeError)):
        remanent.connect(**wrong)


def test_a_folder_that_cannot_be(tmp_path):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(remanent.Error):
        remanent.connect(tmp_path / "file")


def test_threads_share_a_connection(parts):
    parts.autocommit = True
    failures = []

    def work(first):
        try:
            for number in range(first, first + 100):
                parts.execute("insert into part values (?, 'x', 1)", (number,))
                assert parts.execute(
                    "select name from part where id = ?", (number,)
                ).fetchone() == ("x",)
                parts.execute("select sum(price) from part").fetchall()
        except Exception as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(1000 * n,)) for n in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert parts.execute("select count(*) from part").fetchone() == (403,)


LONG = "select count(*) from generate_series(1, 100000) a, generate_series(1, 10000000) b"


def test_a_statement_is_cancelled_by_another_thread(con):
    stop = threading.Event()

    def cancel():
        # Until it is heard: the statement may not have begun.
        while not stop.is_set():
            con.cancel()
            time.sleep(0.05)

    thread = threading.Thread(target=cancel)
    thread.start()
    try:
        with pytest.raises(remanent.OperationalError) as raised:
            con.execute(LONG).fetchall()
    finally:
        stop.set()
        thread.join()
    assert raised.value.sqlstate == "57014"


def test_ctrl_c_stops_a_statement(tmp_path):
    program = textwrap.dedent(
        f"""
        import remanent, sys
        con = remanent.connect()
        print("begins", flush=True)
        try:
            con.execute({LONG!r}).fetchall()
        except KeyboardInterrupt:
            con.rollback()
            print(con.execute("select 'goes on'").fetchone()[0], flush=True)
        """
    )
    running = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    )
    assert running.stdout.readline() == "begins\n"
    time.sleep(0.5)
    running.send_signal(signal.SIGINT)
    assert running.stdout.readline() == "goes on\n"
    assert running.wait() == 0


def test_ctrl_c_stops_many_short_statements():
    program = textwrap.dedent(
        """
        import itertools, remanent
        con = remanent.connect()
        con.execute("create table t (a int primary key)")
        con.commit()
        print("begins", flush=True)
        try:
            con.executemany("delete from t where a = ?", itertools.repeat((1,)))
        except KeyboardInterrupt:
            con.rollback()
            print("goes on", flush=True)
        """
    )
    running = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert running.stdout.readline() == "begins\n"
    time.sleep(0.5)
    running.send_signal(signal.SIGINT)
    try:
        assert running.communicate(timeout=60)[0] == "goes on\n"
    finally:
        running.kill()


def test_a_forked_process_is_refused(parts):
    cur = parts.execute("select * from part")
    words = parts.kv("words")
    words[b"a"] = b"b"
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        said = b"wrong"
        try:
            refused = 0
            uses = [lambda: parts.execute("select 1"), cur.fetchone, lambda: words[b"a"]]
            for use in uses:
                try:
                    use()
                except remanent.InterfaceError as error:
                    refused += "fork" in str(error)
            with remanent.connect() as own:
                own.execute("create table t (a int)")
            parts.close()
            words.close()
            # What is left of the parent's is let go without waiting for the parent's threads.
            signal.alarm(20)
            del parts, words, cur, uses, use
            gc.collect()
            said = b"refused" if refused == 3 else said
        finally:
            os.write(writing, said)
            os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 100) == b"refused"
    assert cur.fetchone() is not None and words[b"a"] == b"b"


def test_the_interpreter_ends_with_what_is_open(tmp_path):
    program = textwrap.dedent(
        """
        import remanent, sys
        con = remanent.connect(sys.argv[1])
        con.execute("create table t (a int)")
        con.commit()
        con.execute("insert into t values (1)")
        rows = con.execute("select * from t")
        pairs = con.kv("k").range()
        if len(sys.argv) > 2:
            raise SystemExit(3)
        """
    )
    for more, status in (([], 0), (["exit"], 3)):
        folder = tmp_path / f"db{status}"
        done = subprocess.run([sys.executable, "-c", program, str(folder), *more])
        assert done.returncode == status
        with remanent.connect(folder) as con:
            assert con.execute("select count(*) from t").fetchone() == (0,)


def test_constructors():
    assert remanent.Date(2026, 11, 29) == datetime.date(2026, 11, 29)
    assert remanent.Binary(b"\x00") == b"\x00"
    assert remanent.TimestampFromTicks(0) == datetime.datetime(*time.localtime(0)[:6])
    assert remanent.TimeFromTicks(0) == datetime.time(*time.localtime(0)[3:6])
    assert remanent.DateFromTicks(0) == datetime.date(*time.localtime(0)[:3])


def test_a_savepoint_begins_a_transaction(con):
    con.execute("savepoint a")
    con.execute("create table t (a int)")
    con.execute("rollback to a")
    con.rollback()
    with pytest.raises(remanent.ProgrammingError):
        con.execute("select * from t")
