"""DuckDB and HyPer for the laboratory's queries.

Reads one JSON object a line from standard input and answers each with one on standard output:
{"load": true}, {"query": "select ..."}. Times are those of the call alone, until every row of the
answer is here; turning rows into JSON is not in them. CPU time is that of this process and of the
server that it has started, if any.
"""

import json
import os
import sys
import time


def memory_bytes(engine):
    total = 0
    for pid in engine.pids():
        with open(f"/proc/{pid}/smaps_rollup") as rollup:
            for line in rollup:
                if line.startswith(engine.MEMORY):
                    total += int(line.split()[1]) * 1024
    return total


class DuckDb:
    MEMORY = ("Anonymous:", "Pss_Shmem:")

    def __init__(self, scratch, in_file, threads, budget):
        import duckdb

        self.duckdb = duckdb
        self.version = duckdb.__version__
        self.file = os.path.join(scratch, "tpch.duckdb") if in_file else None
        self.threads = threads
        self.budget = budget
        self.scratch = scratch
        self.open()

    def open(self):
        self.connection = self.duckdb.connect(self.file or ":memory:")
        self.connection.execute(f"set threads = {self.threads}")
        if self.budget:
            self.connection.execute(f"set memory_limit = '{self.budget}B'")
            self.connection.execute(f"set temp_directory = '{self.scratch}/spilled'")

    def pids(self):
        return ["self"]

    def cpu_ns(self):
        return time.process_time_ns()

    def load(self, statements, directory):
        for table in statements:
            self.connection.execute(statements[table])
            path = os.path.join(directory, f"{table}.tbl")
            options = "format csv, delimiter '|', header false, quote '', escape ''"
            self.connection.execute(f"copy {table} from '{path}' ({options})")
        if self.file:
            self.connection.execute("checkpoint")
            self.connection.close()
            self.open()

    def file_bytes(self):
        return os.path.getsize(self.file) if self.file else 0

    def query(self, text):
        return self.connection.sql(text).to_arrow_table()

    def rows(self, answer):
        return [list(row.values()) for row in answer.to_pylist()]


class Hyper:
    # Its temporary tables lie in mapped files that nobody sees: all that is resident counts.
    MEMORY = ("Rss:",)
    SETTINGS = {
        "log_config": "",
        "network_threads": "1",
        "query_result_cache_probe": "0",
        "query_result_cache_store": "0",
    }

    def __init__(self, scratch, threads):
        import tableauhyperapi as hyper

        self.version = hyper.__version__
        limits = {f"{kind}_concurrent_query_thread_limit": threads for kind in ["soft", "hard"]}
        parameters = self.SETTINGS | limits
        self.process = hyper.HyperProcess(
            hyper.Telemetry.DO_NOT_SEND_USAGE_DATA_TO_TABLEAU, parameters=parameters
        )
        self.connection = hyper.Connection(self.process.endpoint)
        self.server = self.children()

    def children(self):
        with open(f"/proc/self/task/{os.getpid()}/children") as children:
            found = [int(pid) for pid in children.read().split()]
        return found

    def pids(self):
        return ["self"] + self.server

    def cpu_ns(self):
        # The clock of another process is made from its number (clock_getcpuclockid).
        clocks = [time.clock_gettime_ns((~pid << 3) | 2) for pid in self.server]
        return time.process_time_ns() + sum(clocks)

    def load(self, statements, directory):
        for table in statements:
            statement = statements[table].replace("create table", "create temporary table")
            self.connection.execute_command(statement)
            path = os.path.join(directory, f"{table}.tbl")
            options = "format csv, delimiter '|', header false"
            self.connection.execute_command(f"copy {table} from '{path}' with ({options})")

    def file_bytes(self):
        return 0

    def query(self, text):
        with self.connection.execute_query(text) as result:
            return [row for row in result]

    def rows(self, answer):
        return answer


def text(value):
    return None if value is None else str(value)


def main():
    name, directory, scratch, threads = sys.argv[1:5]
    budget = sys.argv[5] if len(sys.argv) > 5 else None
    engine = Hyper(scratch, threads) if name == "hyper" else None
    engine = engine or DuckDb(scratch, name == "duckdb-file", threads, budget)
    out = sys.stdout
    print(json.dumps({"version": engine.version}), file=out, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        held = memory_bytes(engine) if "load" in request else 0
        answer = None
        wall, cpu = time.monotonic_ns(), engine.cpu_ns()
        try:
            if "load" in request:
                engine.load(request["load"], directory)
            else:
                answer = engine.query(request["query"])
        except Exception as error:
            print(json.dumps({"error": str(error)}), file=out, flush=True)
            continue
        reply = {"cpu_ns": engine.cpu_ns() - cpu, "wall_ns": time.monotonic_ns() - wall}
        if "load" in request:
            growth = max(memory_bytes(engine) - held, 0)
            reply["held_bytes"] = growth + engine.file_bytes()
        if request.get("rows"):
            reply["rows"] = [[text(value) for value in row] for row in engine.rows(answer)]
        print(json.dumps(reply), file=out, flush=True)
    if name == "hyper":
        engine.connection.close()
        engine.process.close()


main()
