"""A group of three replicas, money that clients move, and replicas that are killed meanwhile.

    replicas.py PATH_OF_REMANENT FOLDER [ROUNDS [SEED]]

psycopg moves it, and pgjdbc too if the variable PGJDBC names its file.

Whatever happens to a minority: what was acknowledged is there, once, on all replicas; no money is
gone; who reads a follower sees all of it at any time; and a client meets no errors but those upon
which it connects again (57P0x, or a connection that is gone) or tries again (40001).
"""

import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import threading
import time

import psycopg

ACCOUNTS, FIRST = 20, 1000
MOVERS = 4
# How long a group may be without a leader; a machine of CI may be slow.
PATIENCE = 60


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Group:
    """Processes, each with a folder: so many, with this memory and more options."""

    def __init__(self, program, folder, count=3, memory="256M", options=()):
        self.program, self.folder = program, pathlib.Path(folder)
        self.memory, self.options = memory, options
        ports = free_ports(2 * count)
        self.peers, self.clients = ports[:count], ports[count:]
        self.processes = [None] * count
        for replica in range(count):
            self.start(replica)

    def start(self, replica):
        others = [f"{i + 1}@127.0.0.1:{p}" for i, p in enumerate(self.peers) if i != replica]
        log = open(self.folder / f"{replica + 1}.log", "a")
        self.processes[replica] = subprocess.Popen(
            [
                self.program, "serve", str(self.folder / str(replica + 1)), "--trust",
                "--listen", f"127.0.0.1:{self.clients[replica]}", "--memory", self.memory,
                "--replica", f"{replica + 1}@127.0.0.1:{self.peers[replica]}",
                "--peers", ",".join(others), "--grace", "1", *self.options,
            ],
            stdout=log, stderr=log,
        )  # fmt: skip

    def end(self, replica, how):
        process = self.processes[replica]
        process.send_signal(how)
        process.wait(PATIENCE)

    def dsn(self, replicas=None, **more):
        replicas = range(len(self.clients)) if replicas is None else replicas
        hosts = ",".join("127.0.0.1" for _ in replicas)
        ports = ",".join(str(self.clients[replica]) for replica in replicas)
        more = " ".join(f"{name}={value}" for name, value in more.items())
        return f"host={hosts} port={ports} user=tester dbname=db connect_timeout=5 {more}"

    def leader(self):
        """The number of the replica that takes changes."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                with connect(self.dsn(target_session_attrs="read-write")) as conn:
                    return self.clients.index(conn.info.port)
            except psycopg.OperationalError:
                time.sleep(0.05)
        raise AssertionError("no replica leads")


def connect(dsn):
    return psycopg.connect(dsn, autocommit=True)


def connect_in_time(dsn):
    """To a replica that may not be there yet."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return connect(dsn)
        except psycopg.OperationalError:
            if time.monotonic() >= end:
                raise
            time.sleep(0.1)


class Movers:
    """Threads that move money, and what they were told."""

    def __init__(self, group, seed):
        self.group, self.ended = group, threading.Event()
        self.acknowledged, self.faults, self.lock = {}, [], threading.Lock()
        self.next, self.last, self.pauses = 0, time.monotonic(), []
        self.threads = [threading.Thread(target=self.run, args=(seed + i,)) for i in range(MOVERS)]
        for thread in self.threads:
            thread.start()

    def run(self, seed):
        draws, conn = random.Random(seed), None
        while not self.ended.is_set():
            try:
                if conn is None or conn.closed:
                    conn = connect(self.group.dsn(target_session_attrs="read-write"))
                self.move(conn, draws)
            except psycopg.OperationalError as error:
                self.judge(error)
                if conn is not None:
                    conn.close()
                conn = None
                time.sleep(0.01)
            except Exception as error:  # whatever else is a fault
                self.faults.append(repr(error))
                return
        if conn is not None:
            conn.close()

    def move(self, conn, draws):
        one, other = draws.sample(range(ACCOUNTS), 2)
        amount = draws.randint(1, 50)
        with self.lock:
            self.next += 1
            number = self.next
        with conn.transaction():
            conn.execute("update account set money = money - %s where id = %s", (amount, one))
            conn.execute("update account set money = money + %s where id = %s", (amount, other))
            conn.execute("insert into moved values (%s, %s, %s, %s)", (number, one, other, amount))
        self.note(number, (one, other, amount))

    def judge(self, error):
        state = error.sqlstate
        if state is not None and state != "40001" and not state.startswith("57P0"):
            self.faults.append(f"{state} {error}")

    def note(self, number, what):
        """A transfer was acknowledged."""
        with self.lock:
            now = time.monotonic()
            self.pauses.append(now - self.last)
            self.last = now
            self.acknowledged[number] = what

    def end(self):
        self.ended.set()
        for thread in self.threads:
            thread.join(PATIENCE)


class JavaMover:
    """A process that moves money by pgjdbc, and a thread that hears of it."""

    def __init__(self, group, movers, driver, seed):
        hosts = ",".join(f"127.0.0.1:{port}" for port in group.clients)
        url = f"jdbc:postgresql://{hosts}/db?user=tester&targetServerType=primary&connectTimeout=5"
        source = pathlib.Path(__file__).with_name("JdbcMover.java")
        self.movers, self.count = movers, 0
        self.process = subprocess.Popen(
            ["java", "-cp", driver, str(source), url, str(ACCOUNTS), str(seed)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.thread = threading.Thread(target=self.hear)
        self.thread.start()

    def hear(self):
        for line in self.process.stdout:
            word, *rest = line.split()
            if word == "moved":
                number, *what = map(int, rest)
                self.movers.note(number, tuple(what))
                self.count += 1
            else:
                self.movers.faults.append(f"pgjdbc: {line.strip()}")

    def end(self):
        self.process.stdin.close()
        self.thread.join(PATIENCE)
        self.process.wait(PATIENCE)


def watch(group, ended, faults, looks):
    """Reads any replica that lets it: money moves and never goes."""
    while not ended.is_set():
        try:
            with connect(group.dsn(load_balance_hosts="random")) as conn:
                for _ in range(20):
                    total, count = conn.execute("select sum(money), count(*) from account").fetchone()
                    if (total, count) != (ACCOUNTS * FIRST, ACCOUNTS):
                        faults.append(f"{count} accounts with {total}")
                    looks.append(1)
        except psycopg.OperationalError:
            time.sleep(0.02)


def bad_day(group, draws, movers):
    """Something that happens to one replica; what it was, in words."""
    leader = group.leader()
    victim = draws.choice([leader, leader, draws.randrange(3)])
    kind = draws.choice(["killed", "ended", "stalled"])
    movers.pauses.clear()
    if kind == "stalled":
        group.processes[victim].send_signal(signal.SIGSTOP)
        time.sleep(draws.uniform(0.2, 3.0))
        group.processes[victim].send_signal(signal.SIGCONT)
    else:
        group.end(victim, signal.SIGKILL if kind == "killed" else signal.SIGTERM)
    count = len(movers.acknowledged)
    end = time.monotonic() + PATIENCE
    while len(movers.acknowledged) < count + 20:
        assert not movers.faults, movers.faults[:3]
        assert time.monotonic() < end, "nobody takes changes any more"
        time.sleep(0.02)
    pause = max(movers.pauses[:20], default=0)
    if kind != "stalled":
        group.start(victim)
    who = "the leader" if victim == leader else "a follower"
    return f"{who} was {kind}: {pause:.2f} s without a commit"


def check(group, movers):
    with connect_in_time(group.dsn([group.leader()])) as conn:
        moved = dict(
            (row[0], row[1:]) for row in conn.execute("select id, one, other, amount from moved")
        )
        position = conn.execute("show remanent.position").fetchone()[0]
    lost = [number for number, what in movers.acknowledged.items() if moved.get(number) != what]
    assert not lost, f"{len(lost)} acknowledged transfers are lost: {lost[:5]}"
    money = [FIRST] * ACCOUNTS
    for one, other, amount in moved.values():
        money[one] -= amount
        money[other] += amount
    expected = list(enumerate(money))
    for replica in range(3):
        dsn = group.dsn([replica], options=f"'-c remanent.read_after={position}'")
        with connect_in_time(dsn) as conn:
            found = conn.execute("select id, money from account order by id").fetchall()
        assert found == expected, f"replica {replica + 1} has other money"


def main():
    program, folder = sys.argv[1:3]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 4
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else random.randrange(1 << 30)
    print(f"seed {seed}", flush=True)
    os.makedirs(folder, exist_ok=True)
    group, draws, movers, java = Group(program, folder), random.Random(seed), None, None
    try:
        with connect_in_time(group.dsn([group.leader()])) as conn:
            conn.execute("create table account (id int primary key, money int not null)")
            conn.execute("create table moved (id int primary key, one int, other int, amount int)")
            with conn.cursor() as cursor:
                rows = [(number, FIRST) for number in range(ACCOUNTS)]
                cursor.executemany("insert into account values (%s, %s)", rows)
            position = conn.execute("show remanent.position").fetchone()[0]
        # From here on every replica has the accounts.
        for replica in range(3):
            with connect_in_time(group.dsn([replica])) as conn:
                conn.execute(f"set remanent.read_after = '{position}'")
        movers, looks = Movers(group, seed), []
        driver = os.environ.get("PGJDBC")
        java = JavaMover(group, movers, driver, seed) if driver else None
        watcher = threading.Thread(
            target=watch, args=(group, movers.ended, movers.faults, looks)
        )
        watcher.start()
        for number in range(rounds):
            what = bad_day(group, draws, movers)
            print(f"round {number + 1}: {what}; {len(movers.acknowledged)} moved", flush=True)
        if java is not None:
            end = time.monotonic() + PATIENCE
            while java.count == 0 and time.monotonic() < end:
                time.sleep(0.05)
            java.end()
            assert java.count > 0, "pgjdbc has moved nothing"
        movers.end()
        watcher.join(PATIENCE)
        assert not movers.faults, movers.faults[:5]
        check(group, movers)
        by_java = f", {java.count} of them by pgjdbc" if java else ""
        count = f"{len(movers.acknowledged)} transfers{by_java}"
        print(f"ok: replicas: {count}; {rounds} bad days, {len(looks)} looks")
    except BaseException as error:
        print(f"FAILED: replicas: {error!r}")
        raise
    finally:
        if movers is not None:
            movers.end()
        if java is not None:
            java.process.kill()
        for process in group.processes:
            process.kill()


if __name__ == "__main__":
    main()
