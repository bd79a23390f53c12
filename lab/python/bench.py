"""The Python package beside what a Python program uses instead.

One case is one contender's phase, in a process of its own; `run.py` starts them. A case prints one
line of JSON: the processor time and the time for each operation, and a check value, which has to be
the same for all contenders of a phase.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

ROWS = int(os.environ.get("LAB_ROWS", "1000000"))
READS = int(os.environ.get("LAB_READS", "500000"))
WRITES = int(os.environ.get("LAB_WRITES", "200000"))
ARROW_ROWS = int(os.environ.get("LAB_ARROW_ROWS", "10000000"))

# A record: an account with its owner's name and its money.
PACKED = struct.Struct("<qd24s")


def account(key: int) -> tuple[int, str, float]:
    return key, f"owner of {key}", key * 0.5


@contextlib.contextmanager
def ram_folder() -> Iterator[str]:
    folder = tempfile.mkdtemp(dir="/dev/shm", prefix="remanent-lab-")
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


class Measured:
    """The time of the operations between `begin` and `end`, and what they answered."""

    def __init__(self, operations: int) -> None:
        self.operations = operations

    def __enter__(self) -> Measured:
        self.cpu, self.wall = time.process_time_ns(), time.perf_counter_ns()
        return self

    def __exit__(self, *_: object) -> None:
        self.cpu = time.process_time_ns() - self.cpu
        self.wall = time.perf_counter_ns() - self.wall

    def say(self, check: Any, note: str = "") -> None:
        print(
            json.dumps(
                {
                    "cpu_ns": self.cpu / self.operations,
                    "wall_ns": self.wall / self.operations,
                    "check": check,
                    "note": note,
                }
            )
        )


def keys_to_read() -> list[int]:
    return random.Random(7).choices(range(ROWS), k=READS)


def keys_to_write() -> list[int]:
    return random.Random(8).choices(range(ROWS), k=WRITES)


# Reads and writes of one record, each in a transaction of its own.


def dict_table(phase: str) -> None:
    import dataclasses

    @dataclasses.dataclass(slots=True)
    class Account:
        id: int
        owner: str
        money: float

    table = {key: Account(*account(key)) for key in range(ROWS)}
    if phase == "read":
        total, keys = 0.0, keys_to_read()
        with Measured(READS) as measured:
            for key in keys:
                total += table[key].money
        measured.say(total)
    else:
        keys = keys_to_write()
        with Measured(WRITES) as measured:
            for key in keys:
                table[key] = Account(key, "new", 1.0)
        measured.say(sum(it.money for it in table.values()))


def remanent_table(phase: str) -> None:
    import remanent

    @remanent.record
    class Account:
        id: int
        owner: str
        money: float

    con = remanent.connect(autocommit=True)
    table = con.table(Account)
    table.insert_all(Account(*account(key)) for key in range(ROWS))
    if phase == "read":
        total, keys = 0.0, keys_to_read()
        with Measured(READS) as measured:
            for key in keys:
                total += table[key].money
        measured.say(total)
    else:
        keys = keys_to_write()
        with Measured(WRITES) as measured:
            for key in keys:
                table.put(Account(key, "new", 1.0))
        measured.say(con.execute("select sum(money) from account").fetchone()[0])


def by_statements(phase: str, con: Any) -> None:
    cursor = con.cursor()
    if phase == "read":
        total, keys = 0.0, keys_to_read()
        with Measured(READS) as measured:
            for key in keys:
                total += cursor.execute("select * from account where id = ?", (key,)).fetchone()[2]
        measured.say(total)
    else:
        keys = keys_to_write()
        update = "update account set owner = ?, money = ? where id = ?"
        with Measured(WRITES) as measured:
            for key in keys:
                cursor.execute(update, ("new", 1.0, key))
        measured.say(con.execute("select sum(money) from account").fetchone()[0])


def remanent_sql(phase: str) -> None:
    import remanent

    con = remanent.connect(autocommit=True)
    con.execute("create table account (id bigint primary key, owner text, money double precision)")
    with con.transaction():
        con.executemany("insert into account values (?, ?, ?)", map(account, range(ROWS)))
    by_statements(phase, con)


def lmdb_table(phase: str) -> None:
    import lmdb

    with ram_folder() as folder:
        env = lmdb.open(folder, map_size=4 << 30, sync=False, metasync=False, writemap=True)
        with env.begin(write=True) as txn:
            for key in range(ROWS):
                number, owner, money = account(key)
                txn.put(key.to_bytes(8, "big"), PACKED.pack(number, money, owner.encode()))
        note = "no sync, writemap, in RAM; values by struct"
        if phase == "read":
            total, keys = 0.0, keys_to_read()
            with Measured(READS) as measured:
                for key in keys:
                    with env.begin() as txn:
                        found = txn.get(key.to_bytes(8, "big"))
                        total += PACKED.unpack(found)[1]
            measured.say(total, note)
        else:
            keys = keys_to_write()
            with Measured(WRITES) as measured:
                for key in keys:
                    with env.begin(write=True) as txn:
                        txn.put(key.to_bytes(8, "big"), PACKED.pack(key, 1.0, b"new"))
            with env.begin() as txn:
                total = sum(PACKED.unpack(value)[1] for _, value in txn.cursor())
            measured.say(total, note)


def sqlite_table(phase: str) -> None:
    import sqlite3

    con = sqlite3.connect(":memory:", isolation_level=None)
    con.execute("create table account (id integer primary key, owner text, money real)")
    con.execute("begin")
    con.executemany("insert into account values (?, ?, ?)", map(account, range(ROWS)))
    con.execute("commit")
    by_statements(phase, con)


# Ten million rows of six columns, to and from Arrow.


def arrow_table() -> Any:
    import numpy
    import pyarrow

    draw = numpy.random.default_rng(9)
    names = pyarrow.array([f"name {n}" for n in range(1000)])
    return pyarrow.table(
        {
            "id": pyarrow.array(numpy.arange(ARROW_ROWS, dtype="int64")),
            "part": pyarrow.array(draw.integers(0, 200_000, ARROW_ROWS, dtype="int32")),
            "price": pyarrow.array(draw.random(ARROW_ROWS)),
            "day": pyarrow.array(
                draw.integers(8000, 12000, ARROW_ROWS, dtype="int32"), type=pyarrow.date32()
            ),
            "name": names.take(pyarrow.array(draw.integers(0, 1000, ARROW_ROWS))),
            "open": pyarrow.array(draw.integers(0, 2, ARROW_ROWS) == 1),
        }
    )


def check_of(table: Any) -> list[Any]:
    import pyarrow.compute as compute

    lengths = compute.sum(compute.binary_length(table["name"].cast("string"))).as_py()
    return [table.num_rows, compute.sum(table["part"]).as_py(), lengths]


def remanent_arrow(phase: str) -> None:
    import remanent

    table = arrow_table()
    con = remanent.connect(budget="8GB", autocommit=True)
    measured = None
    if phase == "arrow-in":
        with Measured(ARROW_ROWS) as measured:
            con.load("t", table)
    else:
        con.load("t", table)
        con.execute("vacuum")
    arrow_phase(phase, con.sql, measured)


def duckdb_arrow(phase: str) -> None:
    import duckdb

    con = duckdb.connect(config={"threads": 1})
    con.register("given", arrow_table())
    measured = None
    if phase == "arrow-in":
        with Measured(ARROW_ROWS) as measured:
            con.execute("create table t as select * from given")
    else:
        con.execute("create table t as select * from given")
    arrow_phase(phase, con.sql, measured, "one thread")


def arrow_phase(
    phase: str, sql: Callable[[str], Any], measured: Measured | None, note: str = ""
) -> None:
    import pyarrow

    if measured is not None:
        [(part, length)] = sql("select sum(part), sum(length(name)) from t").fetchall()
        measured.say([ARROW_ROWS, int(part), int(length)], note)
        return
    with Measured(ARROW_ROWS) as measured:
        if phase == "arrow-out":
            found = sql("select * from t").arrow()
            if not isinstance(found, pyarrow.Table):
                found = found.read_all()
        else:
            found = sql("select * from t").df()
    if phase == "df":
        check = [len(found), int(found["part"].sum()), int(found["name"].str.len().sum())]
        measured.say(check, note)
    else:
        measured.say(check_of(found), note)


CASES: dict[str, dict[str, Callable[[str], None]]] = {
    phase: {
        "dict": dict_table,
        "remanent-table": remanent_table,
        "remanent-sql": remanent_sql,
        "lmdb": lmdb_table,
        "sqlite": sqlite_table,
    }
    for phase in ("read", "write")
} | {
    phase: {"remanent": remanent_arrow, "duckdb": duckdb_arrow}
    for phase in ("arrow-in", "arrow-out", "df")
}


def main() -> None:
    phase, contender = sys.argv[1:]
    CASES[phase][contender](phase)


if __name__ == "__main__":
    main()
