"""TPC-H over groups of replicas, each with one thread, beside one process of one thread.

    replicas_tpch.py PATH_OF_REMANENT DATA FOLDER [REPLICAS [ROUNDS]]

DATA has the tables as Parquet, each a file or a folder of files, as `tpchgen-cli parquet` writes
them (`--parts 12 -s 10` for scale 10). The leader divides queries over so many replicas, 2 if
nothing is said. Each query is asked of both in turn, so many times, 3 if nothing is said, after
one that does not count; rows are touched before, so that no answer is kept. A figure for each
query, the medians, the tables of which tasks read parts, and whether the answers are the same;
last the sums. What the machine allows stands there, too: how long the process alone takes while
the leader answers the same query by itself, since cores share caches and memory. Half of that is
what dividing could reach. Build remanent in the profile `analytics`.
"""

import pathlib
import shutil
import statistics
import subprocess
import sys
import threading
import time

import psycopg

import replicas
from replicas_figures import say

HERE = pathlib.Path(__file__).resolve().parent
TPCH = HERE.parents[3] / "lab" / "tpch" / "tpch"
KEYS = {
    "region": "r_regionkey", "nation": "n_nationkey", "supplier": "s_suppkey",
    "customer": "c_custkey", "part": "p_partkey", "partsupp": "ps_partkey",
    "orders": "o_orderkey", "lineitem": "l_orderkey",
}  # fmt: skip
ONE_THREAD = ("--query-threads", "1", "--freeze", "on_read")


class Alone:
    """One process, with its rows in memory alone."""

    def __init__(self, program, memory, log):
        self.port = replicas.free_ports(1)[0]
        self.process = subprocess.Popen(
            [
                program, "serve", ":memory:", "--trust", "--listen", f"127.0.0.1:{self.port}",
                "--memory", memory, "--grace", "1", *ONE_THREAD,
            ],
            stdout=log, stderr=log,
        )  # fmt: skip

    def dsn(self):
        return f"host=127.0.0.1 port={self.port} user=tester dbname=db connect_timeout=5"


def load(conn, data):
    begun = time.monotonic()
    conn.execute((TPCH / "schema.sql").read_text())
    for table in KEYS:
        files = [data / f"{table}.parquet"] if (data / f"{table}.parquet").exists() else []
        for file in files or sorted((data / table).glob("*.parquet")):
            conn.execute(f"copy {table} from '{file}' (format parquet)")
    return time.monotonic() - begun


def warm(conn):
    """Reads all, so that rows become columns."""
    for _ in range(3):
        for table, key in KEYS.items():
            comment = f"{key.split('_')[0]}_comment"
            conn.execute(f"select count(*), max({comment}) from {table}").fetchall()


def touch(conn):
    for table, key in KEYS.items():
        conn.execute(f"update {table} set {key} = {key} where {key} = 1")


def position_of(conn):
    return conn.execute("show remanent.position").fetchone()[0]


def wait_for(conn, position):
    end = time.monotonic() + 600
    while True:
        try:
            conn.execute(f"set remanent.read_after = '{position}'")
            return
        except psycopg.Error:
            if time.monotonic() > end:
                raise
            time.sleep(0.5)


def took(conn, text):
    begun = time.perf_counter()
    rows = conn.execute(text).fetchall()
    return time.perf_counter() - begun, rows


def took_beside(conn, leader, text):
    """The time on the first while the leader answers the same.

    By itself: what a transaction that has written asks is not divided.
    """
    leader.execute("begin")
    leader.execute("update region set r_regionkey = r_regionkey where r_regionkey = 1")
    thread = threading.Thread(target=took, args=(leader, text))
    thread.start()
    seconds, _ = took(conn, text)
    thread.join()
    leader.execute("rollback")
    return seconds


def shown(conn, text):
    """The tables of which tasks read parts, by stage."""
    plan = [row[0] for row in conn.execute(f"explain {text}").fetchall()]
    stages = [line.split(", by ", 1)[1] for line in plan if "Stage: tasks" in line]
    by_keys = any(", divided by " in line for line in plan)
    return stages, by_keys


def main():
    program, data, folder = sys.argv[1], *map(pathlib.Path, sys.argv[2:4])
    count = int(sys.argv[4]) if len(sys.argv) > 4 else 2
    rounds = int(sys.argv[5]) if len(sys.argv) > 5 else 3
    data = data.absolute()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    memory = f"{20 // (count + 1)}G"
    options = (*ONE_THREAD, "--durability", "replicated", "--divide-queries", "100000")
    group = replicas.Group(program, folder, count, memory, options)
    alone = Alone(program, memory, open(folder / "alone.log", "a"))
    try:
        one = replicas.connect_in_time(alone.dsn())
        lead = group.leader()
        many = replicas.connect_in_time(group.dsn([lead]))
        others = [
            replicas.connect_in_time(group.dsn([i])) for i in range(count) if i != lead
        ]
        loaded = [load(conn, data) for conn in (one, many)]
        for conn in others:
            wait_for(conn, position_of(many))
        for conn in [one, many, *others]:
            warm(conn)
        version = one.execute("select version()").fetchone()[0]
        say(
            record="system", version=version, data=data.name, replicas=count, rounds=rounds,
            loaded_alone_s=round(loaded[0], 1), loaded_group_s=round(loaded[1], 1),
        )  # fmt: skip
        sums, differ = [0.0, 0.0, 0.0], 0
        for file in sorted((TPCH / "queries").glob("q*.sql")):
            text = file.read_text().replace("{fraction}", "0.0001").strip().rstrip(";")
            times, answers = ([], [], []), [None, None]
            for _ in range(rounds + 1):
                for place, conn in enumerate((one, many)):
                    touch(conn)
                    seconds, rows = took(conn, text)
                    times[place].append(seconds)
                    answers[place] = sorted(map(str, rows))
                for conn in (one, many):
                    touch(conn)
                times[2].append(took_beside(one, many, text))
            medians = [statistics.median(each[1:]) for each in times]
            sums = [total + median for total, median in zip(sums, medians)]
            differ += answers[0] != answers[1]
            stages, by_keys = shown(many, text)
            say(
                record="query", query=file.stem[:3], alone_ms=round(1000 * medians[0], 1),
                group_ms=round(1000 * medians[1], 1), part=round(medians[1] / medians[0], 2),
                beside_ms=round(1000 * medians[2], 1),
                rows=len(answers[0]), equal=answers[0] == answers[1], stages=stages,
                by_keys=by_keys,
            )  # fmt: skip
        say(
            record="sum", alone_s=round(sums[0], 3), group_s=round(sums[1], 3),
            beside_s=round(sums[2], 3),
            part=round(sums[1] / sums[0], 3), different_answers=differ,
        )  # fmt: skip
        assert differ == 0
    finally:
        for process in [*group.processes, alone.process]:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main()
