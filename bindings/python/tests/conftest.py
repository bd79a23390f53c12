"""What the tests share: a connection to a database in memory, and a folder for one on a disk."""

from __future__ import annotations

import pytest

import remanent


@pytest.fixture
def con():
    with remanent.connect() as con:
        yield con


@pytest.fixture
def parts(con):
    """A connection to a database with a table of three rows."""
    con.execute("create table part (id int primary key, name text, price numeric(10,2))")
    con.executemany(
        "insert into part values (?, ?, ?)",
        [(1, "bolt", "0.10"), (2, "nut", "0.05"), (3, "washer", None)],
    )
    con.commit()
    return con
