"""Groups of three replicas against PostgreSQL 15 with two synchronous standbys, on loopback.

    replicas_figures.py PATH_OF_REMANENT FOLDER [SECONDS [ROUNDS]]

pgbench inserts a row a transaction, by prepared statements: 64 clients, and one. A figure for each
system, durability and round, interleaved: transactions a second; transactions a CPU second of all
processes of the servers, pgbench not among them; the mean latency of one client, beside that of
`select 1`. Afterwards the rows of all replicas are counted, in both systems. Last, the leader is
killed some times while one client inserts: the time from the last answer of the old one to the
first of the new one.

PostgreSQL waits for one of two standbys (`ANY 1`): with `remote_write` until the other system has
it in memory, as `replicated` does, and its own disk besides, which it always does; with `on` until
it is on both disks, as `replicated_disk` does. Its programs are looked for in
/usr/lib/postgresql/15, and run as the user postgres if this is root. Build remanent in the profile
`analytics`.
"""

import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import time

import psycopg

import replicas

BIN = "/usr/lib/postgresql/15/bin"
TICKS = os.sysconf("SC_CLK_TCK")
SCRIPT = """\\set a random(1, 1000000000)
insert into event (a, b) values (:a, 'some text of a row');
"""
TABLE = "create table event (id bigint generated always as identity primary key, a int, b text)"
LEVELS = {
    "memory": ("replicated", "remote_write"),
    "disk": ("replicated_disk", "on"),
    "one disk": ("disk", "local"),
}


def tree(pid):
    """A process and those that it has started."""
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid] + [each for child in children for each in tree(int(child))]


def cpu_seconds(pids):
    """What processes have used, with those of their children that have ended."""
    ticks = 0
    # Processes for pgbench's clients end, and are counted with whoever has started them.
    time.sleep(0.5)
    for pid in pids:
        for at, each in enumerate(tree(pid)):
            fields = pathlib.Path(f"/proc/{each}/stat").read_text().rsplit(")", 1)[1].split()
            ticks += sum(map(int, fields[11:13])) + (sum(map(int, fields[13:15])) if at == 0 else 0)
    return ticks / TICKS


class Remanent(replicas.Group):
    """Three processes, each with a folder."""

    name = "remanent"

    def begin(self):
        self.lead = self.leader()
        with replicas.connect(self.dsn([self.lead])) as conn:
            conn.execute(TABLE)
            self.version = conn.execute("select version()").fetchone()[0]

    def port(self):
        return self.clients[self.lead]

    def pids(self):
        return [process.pid for process in self.processes]

    def option(self, level):
        return f"-c durability={LEVELS[level][0]}"

    def counts(self):
        with replicas.connect(self.dsn([self.lead])) as conn:
            position = conn.execute("show remanent.position").fetchone()[0]
        found = []
        for replica in range(3):
            dsn = self.dsn([replica], options=f"'-c remanent.read_after={position}'")
            with replicas.connect(dsn) as conn:
                found.append(conn.execute("select count(*) from event").fetchone()[0])
        return found

    def stop(self):
        for process in self.processes:
            process.kill()
            process.wait()


class PostgreSql:
    """A primary and two standbys that stream from it."""

    name = "postgresql"

    def __init__(self, folder):
        self.folder, self.ports = pathlib.Path(folder), replicas.free_ports(3)
        self.folder.mkdir(parents=True)
        if os.getuid() == 0:
            shutil.chown(self.folder, "postgres")
        self.run(f"{BIN}/initdb -D {self.folder}/0 -A trust -U tester")
        with open(self.folder / "0" / "postgresql.conf", "a") as conf:
            conf.write("shared_buffers = 256MB\nmax_connections = 200\nwal_level = replica\n")
            conf.write(f"unix_socket_directories = '{self.folder}'\nlisten_addresses = '127.0.0.1'\n")
            conf.write("synchronous_standby_names = 'ANY 1 (one, two)'\n")
        self.start(0)
        for number, name in [(1, "one"), (2, "two")]:
            self.run(
                f"{BIN}/pg_basebackup -h 127.0.0.1 -p {self.ports[0]} -U tester -R"
                f" -d 'application_name={name}' -D {self.folder}/{number}"
            )
            self.start(number)

    def run(self, command):
        if os.getuid() == 0:
            command = f"su postgres -s /bin/sh -c {shlex.quote(command)}"
        subprocess.run(command, shell=True, check=True, stdout=subprocess.DEVNULL)

    def start(self, number):
        data = self.folder / str(number)
        options = shlex.quote(f"-p {self.ports[number]}")
        self.run(f"{BIN}/pg_ctl -w -D {data} -l {data}.log -o {options} start")

    def connect(self, number):
        dsn = f"host=127.0.0.1 port={self.ports[number]} user=tester dbname=postgres"
        return replicas.connect(dsn)

    def begin(self):
        with self.connect(0) as conn:
            conn.execute(TABLE)
            self.version = conn.execute("select version()").fetchone()[0]
            while conn.execute("select count(*) from pg_stat_replication").fetchone()[0] < 2:
                time.sleep(0.1)

    def port(self):
        return self.ports[0]

    def pids(self):
        files = [self.folder / str(number) / "postmaster.pid" for number in range(3)]
        return [int(file.read_text().split()[0]) for file in files]

    def option(self, level):
        return f"-c synchronous_commit={LEVELS[level][1]}"

    def counts(self):
        with self.connect(0) as conn:
            found = [conn.execute("select count(*) from event").fetchone()[0]]
        for number in (1, 2):
            with self.connect(number) as conn:
                count = "select count(*) from event"
                while conn.execute(count).fetchone()[0] < found[0]:
                    time.sleep(0.1)
                found.append(conn.execute(count).fetchone()[0])
        return found

    def stop(self):
        for number in (1, 2, 0):
            self.run(f"{BIN}/pg_ctl -D {self.folder}/{number} -m immediate stop")


def pgbench(system, level, script, clients, seconds):
    """Transactions, their time in seconds, and the mean latency in milliseconds."""
    done = subprocess.run(
        ["pgbench", "-n", "-h", "127.0.0.1", "-p", str(system.port()), "-U", "tester",
         "-M", "prepared", "-f", script, "-c", str(clients), "-j", "2" if clients > 1 else "1",
         "-T", str(seconds), "postgres"],
        env=os.environ | {"PGOPTIONS": system.option(level)}, capture_output=True, text=True,
    )  # fmt: skip
    found = re.search(r"transactions actually processed: (\d+)", done.stdout)
    failed = re.search(r"number of failed transactions: (\d+)", done.stdout)
    assert found and failed and failed[1] == "0", done.stdout + done.stderr
    latency = re.search(r"latency average = ([\d.]+) ms", done.stdout)
    return int(found[1]), float(latency[1])


def figure(system, level, scripts, seconds, round_number):
    before = cpu_seconds(system.pids())
    count, _ = pgbench(system, level, scripts["insert"], 64, seconds)
    used = cpu_seconds(system.pids()) - before
    alone, latency = pgbench(system, level, scripts["insert"], 1, seconds)
    _, trip = pgbench(system, level, scripts["nothing"], 1, 1)
    say(
        record="commits", round=round_number, system=system.name, level=level,
        clients_64_per_s=round(count / seconds), per_cpu_second=round(count / used),
        one_client_ms=latency, select_1_ms=trip,
    )  # fmt: skip
    return count + alone


def failovers(group, count):
    """The pauses, in seconds, when the leader is killed."""
    pauses = []
    for _ in range(count):
        conn, last, first = None, time.monotonic(), None
        victim, ended = group.leader(), None
        while first is None:
            try:
                if conn is None or conn.closed:
                    conn = replicas.connect(group.dsn(target_session_attrs="read-write"))
                conn.execute("insert into event (a, b) values (1, 'x')")
                now = time.monotonic()
                if ended is None and conn.info.port == group.clients[victim]:
                    last = now
                    group.end(victim, signal.SIGKILL)
                    ended = now
                elif ended is not None:
                    first = now
            except psycopg.OperationalError:
                conn = None
                time.sleep(0.005)
        pauses.append(first - last)
        conn.close()
        group.start(victim)
        time.sleep(3)
    return pauses


def say(**record):
    print(json.dumps(record), flush=True)


def main():
    program, folder = sys.argv[1:3]
    seconds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 3
    folder = pathlib.Path(folder).absolute()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    os.chmod(folder, 0o755)
    scripts = {"insert": folder / "insert.sql", "nothing": folder / "nothing.sql"}
    scripts["insert"].write_text(SCRIPT)
    scripts["nothing"].write_text("select 1;\n")
    (folder / "remanent").mkdir()
    systems = [Remanent(program, folder / "remanent"), PostgreSql(folder / "postgresql")]
    try:
        expected = {}
        for system in systems:
            system.begin()
            say(record="system", system=system.name, version=system.version)
            expected[system.name] = 0
        for number in range(1, rounds + 1):
            for level in LEVELS:
                for system in systems:
                    expected[system.name] += figure(system, level, scripts, seconds, number)
        for system in systems:
            counts = system.counts()
            assert counts == [expected[system.name]] * 3, (system.name, counts, expected)
            say(record="rows", system=system.name, all_replicas=counts[0])
        pauses = failovers(systems[0], 10)
        say(
            record="failover", system="remanent", seconds=[round(p, 3) for p in pauses],
            median=round(statistics.median(pauses), 3), most=round(max(pauses), 3),
        )  # fmt: skip
    finally:
        for system in systems:
            system.stop()


if __name__ == "__main__":
    main()
