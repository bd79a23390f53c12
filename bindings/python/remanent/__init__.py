"""Remanent: a main-memory database, in the process of its program.

>>> import remanent
>>> con = remanent.connect(":memory:")
>>> _ = con.execute("create table part (id int primary key, name text)")
>>> _ = con.execute("insert into part values (?, ?)", (1, "bolt"))
>>> con.execute("select name from part where id = ?", (1,)).fetchone()
('bolt',)

What `connect` gives is a connection of DB-API 2.0 (PEP 249); a cursor has its rows also as Arrow,
pandas and polars. `Connection.table` has rows as objects of a class, and `Connection.kv` is a mapping
of bytes, both without SQL.
"""

from __future__ import annotations

import os as _os

from . import _remanent
from ._connection import Connection, Cursor
from ._key_value import KeyValue
from ._records import (
    Column,
    Float32,
    Int8,
    Int16,
    Int32,
    Int64,
    Json,
    Moment,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    record,
)
from ._remanent import (
    ConflictError,
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Table,
    Warning,
)
from ._types import (
    BINARY,
    DATETIME,
    NUMBER,
    ROWID,
    STRING,
    Binary,
    Date,
    DateFromTicks,
    Time,
    TimeFromTicks,
    Timestamp,
    TimestampFromTicks,
)

__version__ = _remanent.__version__

#: The version of DB-API.
apilevel = "2.0"
#: Threads may share the module and connections, but not cursors.
threadsafety = 2
#: `?`; names of a mapping and `$1` are understood, too.
paramstyle = "qmark"

__all__ = [
    "apilevel",
    "BINARY",
    "Binary",
    "Column",
    "ConflictError",
    "connect",
    "Connection",
    "Cursor",
    "DatabaseError",
    "DataError",
    "Date",
    "DateFromTicks",
    "DATETIME",
    "Error",
    "Float32",
    "Int16",
    "Int32",
    "Int64",
    "Int8",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "Json",
    "KeyValue",
    "Moment",
    "NotSupportedError",
    "NUMBER",
    "OperationalError",
    "paramstyle",
    "ProgrammingError",
    "record",
    "ROWID",
    "STRING",
    "Table",
    "threadsafety",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "UInt16",
    "UInt32",
    "UInt64",
    "UInt8",
    "Warning",
]

# What is open is of no use in a process that was forked, and says so.
_os.register_at_fork(after_in_child=_remanent.after_fork_in_child)


def connect(
    path: str | _os.PathLike[str] = ":memory:",
    *,
    budget: int | str | None = None,
    durability: str | None = None,
    autocommit: bool = False,
) -> Connection:
    """Opens the database in a folder, which is made if there is none, or one in memory alone.

    `budget` is the most memory that it may take, in bytes or as a text such as ``"2GB"``.
    `durability` is what a commit waits for: ``"memory"``, ``"buffered"``, ``"os"`` or ``"disk"``.
    Who opens a folder again in the same process gets the database that is open, and may give no
    options.

    Without `autocommit` a transaction begins with the first statement and ends with
    `Connection.commit` or `Connection.rollback`.
    """
    database = _remanent.Database(_os.fspath(path), budget=budget, durability=durability)
    return Connection(database, autocommit=autocommit)
