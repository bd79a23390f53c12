"""Connections and cursors of DB-API 2.0, with Arrow beside rows."""

from __future__ import annotations

import contextlib
import html
import os
import random
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from . import _remanent
from ._key_value import KeyValue
from ._records import open_table
from ._types import TypeCode

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from ._remanent import Table

T = TypeVar("T")
R = TypeVar("R")
Parameters = Sequence[Any] | Mapping[str, Any]

# For how long work is run again after conflicts, as statements are, and how long is waited at first
# and at most, in seconds.
_PATIENCE = 10.0
_PAUSE = 0.001
_PAUSE_MAX = 0.05
# Rows that a notebook shows.
_SHOWN = 20


class Connection:
    """A caller's statements, one after the other, in one transaction at a time.

    Threads may share it; their statements wait for each other. Used as a context manager, it
    commits at the end, or rolls back after an exception, and is closed.
    """

    Warning = _remanent.Warning
    Error = _remanent.Error
    InterfaceError = _remanent.InterfaceError
    DatabaseError = _remanent.DatabaseError
    DataError = _remanent.DataError
    OperationalError = _remanent.OperationalError
    ConflictError = _remanent.ConflictError
    IntegrityError = _remanent.IntegrityError
    InternalError = _remanent.InternalError
    ProgrammingError = _remanent.ProgrammingError
    NotSupportedError = _remanent.NotSupportedError

    def __init__(self, database: _remanent.Database, *, autocommit: bool = False) -> None:
        self._database = database
        self._session = database.session()
        self._autocommit = autocommit
        self._savepoints = 0
        self._closed = False

    # Statements.

    def cursor(self) -> Cursor:
        """A new cursor."""
        self._check()
        return Cursor(self)

    def execute(self, sql: str, parameters: Parameters | None = None) -> Cursor:
        """Runs a statement, or several that have no parameters; the cursor has the rows of the
        last one."""
        return self.cursor().execute(sql, parameters)

    def executemany(self, sql: str, seq_of_parameters: Iterable[Parameters]) -> Cursor:
        """Runs a statement once for each of these parameters."""
        return self.cursor().executemany(sql, seq_of_parameters)

    #: The same as `execute`, by the name that analysts look for.
    sql = execute

    def load(self, table: str, data: Any, *, create: bool = True) -> int:
        """Inserts rows into a table, which is made for them if it is not there and `create` is
        true; how many rows.

        `data` is anything with Arrow's stream: tables and readers of pyarrow, frames of polars and
        pandas, relations of DuckDB, cursors of remanent. Its columns are found by their names.
        """
        if self._autocommit and not self.in_transaction:
            # All of it or nothing, as any statement.
            with self.transaction():
                return self._session.insert_arrow(table, data, create)
        self._check()
        return self._session.insert_arrow(table, data, create, begins=not self._autocommit)

    def cancel(self) -> None:
        """Stops the statement that another thread runs on this connection."""
        self._session.cancel()

    # Transactions.

    @property
    def autocommit(self) -> bool:
        """Whether each statement is a transaction of its own."""
        return self._autocommit

    @autocommit.setter
    def autocommit(self, autocommit: bool) -> None:
        if self.in_transaction:
            raise _remanent.ProgrammingError("a transaction is open: commit it or roll it back")
        self._autocommit = bool(autocommit)

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        self._check()
        return self._session.transaction_status() != "idle"

    def begin(self, *, read_only: bool = False) -> None:
        """Begins a transaction; one that only reads is a snapshot."""
        self._check()
        self._session.execute("begin read only" if read_only else "begin")

    def commit(self) -> None:
        """Commits the transaction, if one is open.

        Raises `ConflictError` if another one was first, and whatever a constraint that is checked
        at the end says; nothing was changed then.
        """
        if self.in_transaction:
            done = self._session.execute("commit")
            if done.verb == "ROLLBACK":
                raise _remanent.InternalError("the transaction had failed, and was rolled back")

    def rollback(self) -> None:
        """Takes back what the transaction did, if one is open."""
        if self.in_transaction:
            self._session.execute("rollback")

    @contextlib.contextmanager
    def transaction(self, *, read_only: bool = False) -> Iterator[Connection]:
        """A transaction as a context: committed at its end, rolled back after an exception. One
        that only reads is a snapshot: all that it reads is of one moment.

        Within a transaction that is open it is a savepoint: an exception takes back what was done
        since. A body cannot be run again after a conflict; `run` does that.
        """
        self._check()
        if not self.in_transaction:
            self.begin(read_only=read_only)
            try:
                yield self
            except BaseException:
                if not self._closed:
                    self.rollback()
                raise
            self.commit()
            return
        self._savepoints += 1
        name = f"remanent_{self._savepoints}"
        self._session.execute(f"savepoint {name}")
        try:
            yield self
        except BaseException:
            if not self._closed and self.in_transaction:
                self._session.execute(f"rollback to {name}")
                self._session.execute(f"release {name}")
            raise
        self._session.execute(f"release {name}")

    def run(self, work: Callable[[Connection], T]) -> T:
        """Runs `work(connection)` in a transaction, once more after each conflict with another one
        for ten seconds; what it returns.

        >>> import remanent
        >>> con = remanent.connect()
        >>> _ = con.execute("create table account (id int primary key, money int)")
        >>> con.commit()
        >>> con.run(lambda con: con.execute("insert into account values (1, 100)").rowcount)
        1
        """
        begun, pause = time.monotonic(), _PAUSE
        while True:
            try:
                with self.transaction():
                    return work(self)
            except _remanent.ConflictError:
                # What is a savepoint of another transaction cannot go on.
                if self.in_transaction or time.monotonic() - begun > _PATIENCE:
                    raise
            time.sleep(random.uniform(0, pause))
            pause = min(2 * pause, _PAUSE_MAX)

    # The database.

    def connect(self, *, autocommit: bool | None = None) -> Connection:
        """Another connection to the same database."""
        self._check()
        same = self._autocommit if autocommit is None else autocommit
        return Connection(self._database.again(), autocommit=same)

    def table(self, record: type[R], *, create: bool = True) -> Table[R]:
        """The table of the records of a class, made with `remanent.record`; it and its indexes are
        made if they are not there and `create` is true.

        In a transaction of this connection its calls are part of it, together with statements;
        without one each call is a transaction of its own. Raises `ProgrammingError` if there is a
        table of this name that does not fit.
        """
        self._check()
        return open_table(self._session, record, create)

    def kv(self, name: str, *, ordered: bool = True, duplicates: bool = False) -> KeyValue:
        """The key/value database of this name, which is made if there is none.

        Its calls are transactions of their own, and are not part of this connection's. Once that
        has made or changed tables, no other can be made before its end.
        """
        self._check()
        is_new = name not in self._database.key_value_names()
        if is_new and self._session.transaction_status() == "defining":
            raise _remanent.ProgrammingError(
                "the transaction has made or changed tables: end it before others are made"
            )
        return KeyValue(
            self._database.key_value(name, ordered=ordered, duplicates=duplicates), name
        )

    def kv_names(self) -> list[str]:
        """The names of the key/value databases."""
        self._check()
        return self._database.key_value_names()

    def memory(self) -> dict[str, int]:
        """The memory that the database takes, by what for, in bytes."""
        self._check()
        return self._database.memory()

    def flush(self, durability: str = "disk") -> None:
        """Waits until all commits have this durability."""
        self._check()
        self._database.flush(durability)

    def checkpoint(self) -> None:
        """Writes an image of the database, from which the next opening is quick."""
        self._check()
        self._database.checkpoint()

    # Ends.

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._closed

    def close(self) -> None:
        """Closes it: a transaction that is open is rolled back. The database is closed with the
        last of its connections."""
        if not self._closed:
            self._closed = True
            self._session.close()
            self._database.close()

    def __enter__(self) -> Connection:
        self._check()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._closed:
            return
        try:
            if kind is None:
                self.commit()
            else:
                self.rollback()
        finally:
            self.close()

    def __repr__(self) -> str:
        state = "closed" if self._closed else "open"
        return f"<remanent.Connection to {os.fspath(self._database.path)!r}, {state}>"

    def _check(self) -> None:
        if self._closed:
            raise _remanent.InterfaceError("the connection is closed")


class Cursor:
    """The rows of a statement.

    Rows come when they are asked for: as tuples, or all that are left as Arrow, which pyarrow,
    polars, pandas and DuckDB take without copying (`__arrow_c_stream__`).
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._rows: _remanent.Rows | None = None
        self._statement: tuple[str, Parameters | None] | None = None
        self._changed = -1
        self._closed = False
        #: How many rows `fetchmany` reads if nothing is said.
        self.arraysize = 1
        #: There are no row ids here.
        self.lastrowid = None

    @property
    def connection(self) -> Connection:
        """The connection that it is of."""
        return self._connection

    def execute(self, sql: str, parameters: Parameters | None = None) -> Cursor:
        """Runs a statement, and gives the cursor itself. Parameters are a sequence for `?` and
        `$1`, or a mapping for `:name`."""
        session = self._begin()
        begins = not self._connection.autocommit
        self._rows = session.execute(sql, parameters, begins=begins)
        self._changed = self._rows.changed
        self._statement = (sql, parameters)
        notice = self._rows.notice
        if notice is not None and notice[0] == "WARNING":
            warnings.warn(notice[1], _remanent.Warning, stacklevel=2)
        return self

    def executemany(self, sql: str, seq_of_parameters: Iterable[Parameters]) -> Cursor:
        """Runs a statement once for each of these parameters; rows that it answers are not kept."""
        session = self._begin()
        begins = not self._connection.autocommit
        self._changed = session.execute_many(sql, seq_of_parameters, begins=begins)
        return self

    @property
    def description(self) -> list[tuple[Any, ...]] | None:
        """Of each column the name, the type, and what DB-API wants beside them."""
        if self._rows is None or self._rows.columns is None:
            return None
        return [_described(name, of) for name, of in self._rows.columns]

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        if self._rows is None or self._rows.columns is None:
            return []
        return [name for name, _ in self._rows.columns]

    @property
    def rowcount(self) -> int:
        """How many rows were changed; -1 for a query."""
        return self._changed

    # Rows.

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row; `None` after the last."""
        return self._with_rows().fetch_one()

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """The next rows, `size` or `arraysize` at most."""
        return self._with_rows().fetch(self.arraysize if size is None else size)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows that are left."""
        return self._with_rows().fetch(_ALL)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self

    def __next__(self) -> tuple[Any, ...]:
        row = self.fetchone()
        if row is None:
            raise StopIteration
        return row

    # Arrow.

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._with_rows().__arrow_c_stream__(requested_schema)

    def fetch_record_batch(self) -> pyarrow.RecordBatchReader:
        """The rows that are left, as a reader of pyarrow."""
        import pyarrow

        return pyarrow.RecordBatchReader.from_stream(self)

    def arrow(self) -> pyarrow.Table:
        """The rows that are left, as a table of pyarrow."""
        return self.fetch_record_batch().read_all()

    def df(self) -> pandas.DataFrame:
        """The rows that are left, as a frame of pandas."""
        return self.arrow().to_pandas()

    def pl(self) -> polars.DataFrame:
        """The rows that are left, as a frame of polars."""
        import polars

        return polars.DataFrame(self)

    # What DB-API has beside.

    def setinputsizes(self, sizes: Sequence[Any]) -> None:
        """Does nothing: sizes need not be known."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Does nothing: values come whole."""

    def close(self) -> None:
        """Lets go of the rows that are left."""
        self._closed = True
        if self._rows is not None:
            self._rows.close()
            self._rows = None

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _repr_html_(self) -> str | None:
        """The first rows, for notebooks: the query is run once more for them."""
        if self._rows is None or self._rows.verb != "SELECT" or self._statement is None:
            return None
        sql, parameters = self._statement
        with self._connection.cursor() as again:
            rows = again.execute(sql, parameters).fetchmany(_SHOWN + 1)
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(str(value))}</td>" for value in row) + "</tr>"
            for row in rows[:_SHOWN]
        )
        more = f"<p>the first {_SHOWN} rows</p>" if len(rows) > _SHOWN else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"

    def _begin(self) -> _remanent.Session:
        self._check()
        if self._rows is not None:
            self._rows.close()
        self._rows, self._statement, self._changed = None, None, -1
        return self._connection._session

    def _with_rows(self) -> _remanent.Rows:
        self._check()
        if self._rows is None or self._rows.columns is None:
            raise _remanent.ProgrammingError("there are no rows: no query was run before")
        return self._rows

    def _check(self) -> None:
        self._connection._check()
        if self._closed:
            raise _remanent.InterfaceError("the cursor is closed")


# More rows than there can be.
_ALL = 2**63 - 1


def _described(name: str, of: str) -> tuple[Any, ...]:
    precision = scale = None
    if of.startswith("numeric("):
        precision, scale = (int(digits) for digits in of[len("numeric(") : -1].split(","))
    return (name, TypeCode(of), None, None, precision, scale, None)
