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

    # What clients say of themselves, to psycopg and to pgjdbc.
    user = "user=tester"
    java_user = "user=tester"

    def __init__(self, program, folder, count=3, memory="256M", options=()):
        self.program, self.folder = program, pathlib.Path(folder)
        self.memory, self.options = memory, options
        ports = free_ports(2 * count)
        self.peers, self.clients = ports[:count], ports[count:]
        self.processes = [None] * count
        for replica in range(count):
            self.start(replica)

    def peer_host(self, replica):
        """Where others reach a replica."""
        return "127.0.0.1"

    def client_host(self, replica):
        """Where clients reach it."""
        return "127.0.0.1"

    def within(self, replica):
        """A command that runs another one where the replica is to be."""
        return []

    def access(self, replica):
        """Flags that say who is let in."""
        return ["--trust"]

    def start(self, replica):
        peers = [f"{i + 1}@{self.peer_host(i)}:{port}" for i, port in enumerate(self.peers)]
        others = peers[:replica] + peers[replica + 1 :]
        log = open(self.folder / f"{replica + 1}.log", "a")
        self.processes[replica] = subprocess.Popen(
            [
                *self.within(replica), self.program, "serve", str(self.folder / str(replica + 1)),
                *self.access(replica), "--memory", self.memory,
                "--listen", f"{self.client_host(replica)}:{self.clients[replica]}",
                "--replica", peers[replica], "--peers", ",".join(others),
                "--grace", "1", *self.options,
            ],
            stdout=log, stderr=log,
        )  # fmt: skip

    def end(self, replica, how):
        process = self.processes[replica]
        process.send_signal(how)
        process.wait(PATIENCE)

    def dsn(self, replicas=None, **more):
        replicas = range(len(self.clients)) if replicas is None else replicas
        hosts = ",".join(map(self.client_host, replicas))
        ports = ",".join(str(self.clients[replica]) for replica in replicas)
        more = " ".join(f"{name}={value}" for name, value in more.items())
        return f"host={hosts} port={ports} {self.user} dbname=db connect_timeout=5 {more}"

    def url(self):
        """All replicas, for pgjdbc."""
        hosts = [f"{self.client_host(i)}:{port}" for i, port in enumerate(self.clients)]
        more = "targetServerType=primary&connectTimeout=5"
        return f"jdbc:postgresql://{','.join(hosts)}/db?{self.java_user}&{more}"

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
        source = pathlib.Path(__file__).with_name("JdbcMover.java")
        self.movers, self.count = movers, 0
        self.process = subprocess.Popen(
            ["java", "-cp", driver, str(source), group.url(), str(ACCOUNTS), str(seed)],
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
        except Exception as error:  # whatever else is a fault
            faults.append(repr(error))


def await_moves(movers, count=20, patience=PATIENCE):
    """Until so many more transfers have been acknowledged."""
    wanted = len(movers.acknowledged) + count
    end = time.monotonic() + patience
    while len(movers.acknowledged) < wanted:
        assert not movers.faults, movers.faults[:3]
        assert time.monotonic() < end, "nobody takes changes any more"
        time.sleep(0.02)


def bad_day(group, draws, movers):
    """Something that happens to one replica; what it was, in words."""
    leader = group.leader()
    victim = draws.choice([leader, leader, draws.randrange(len(group.processes))])
    kind = draws.choice(["killed", "ended", "stalled"])
    if kind == "stalled":
        group.processes[victim].send_signal(signal.SIGSTOP)
        time.sleep(draws.uniform(0.2, 3.0))
        group.processes[victim].send_signal(signal.SIGCONT)
    else:
        group.end(victim, signal.SIGKILL if kind == "killed" else signal.SIGTERM)
    await_moves(movers)
    if kind != "stalled":
        group.start(victim)
    return f"{'the leader' if victim == leader else 'a follower'} was {kind}"


def survive(number, day, movers):
    """Has something happen, and says what it was and how long nobody could commit."""
    movers.pauses.clear()
    what = day()
    pause = max(movers.pauses, default=0)
    moved = len(movers.acknowledged)
    print(f"round {number}: {what}: {pause:.2f} s without a commit; {moved} moved", flush=True)


def state_of(group, replica):
    """Transfers and accounts as a replica shows them, nothing older than now."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            with connect(group.dsn([replica])) as conn:
                conn.execute("set remanent.max_staleness = 0")
                conn.execute("begin isolation level repeatable read")
                rows = conn.execute("select id, one, other, amount from moved").fetchall()
                money = conn.execute("select id, money from account order by id").fetchall()
                return {row[0]: row[1:] for row in rows}, money
        except psycopg.OperationalError:
            if time.monotonic() >= end:
                raise
            time.sleep(0.1)


def check(group, movers):
    """All replicas have what was acknowledged, and the money that was moved, once.

    Returns their transfers, which are the same if nobody moves money meanwhile."""
    with movers.lock:
        acknowledged = dict(movers.acknowledged)
    everywhere = []
    for replica in range(len(group.processes)):
        moved, found = state_of(group, replica)
        lost = [number for number, what in acknowledged.items() if moved.get(number) != what]
        assert not lost, f"replica {replica + 1} has lost {len(lost)} transfers: {lost[:5]}"
        money = [FIRST] * ACCOUNTS
        for one, other, amount in moved.values():
            money[one] -= amount
            money[other] += amount
        assert found == list(enumerate(money)), f"replica {replica + 1} has other money"
        everywhere.append(moved)
    return everywhere


def run(group, seed, rounds, day, after_round=lambda: None):
    """Moves money while something happens, a round each; what was done, in words."""
    movers, java = None, None
    try:
        with connect_in_time(group.dsn([group.leader()])) as conn:
            conn.execute("create table account (id int primary key, money int not null)")
            conn.execute("create table moved (id int primary key, one int, other int, amount int)")
            with conn.transaction(), conn.cursor() as cursor:
                rows = [(number, FIRST) for number in range(ACCOUNTS)]
                cursor.executemany("insert into account values (%s, %s)", rows)
        movers, looks = Movers(group, seed), []
        driver = os.environ.get("PGJDBC")
        java = JavaMover(group, movers, driver, seed) if driver else None
        # One that begins again shows what it knows to be with a majority, which may be some
        # entries less than before. From here on that has the accounts, on every replica.
        await_moves(movers)
        with connect_in_time(group.dsn([group.leader()])) as conn:
            position = conn.execute("show remanent.position").fetchone()[0]
        for replica in range(len(group.processes)):
            with connect_in_time(group.dsn([replica])) as conn:
                conn.execute(f"set remanent.read_after = '{position}'")
        watcher = threading.Thread(target=watch, args=(group, movers.ended, movers.faults, looks))
        watcher.start()
        for number in range(1, rounds + 1):
            survive(number, lambda: day(movers), movers)
            after_round()
        if java is not None:
            end = time.monotonic() + PATIENCE
            while java.count == 0 and time.monotonic() < end:
                time.sleep(0.05)
            java.end()
            assert java.count > 0, "pgjdbc has moved nothing"
        movers.end()
        watcher.join(PATIENCE)
        assert not movers.faults, movers.faults[:5]
        everywhere = check(group, movers)
        assert all(moved == everywhere[0] for moved in everywhere), "replicas differ"
        by_java = f", {java.count} of them by pgjdbc" if java else ""
        count = f"{len(movers.acknowledged)} transfers{by_java}"
        return f"{count}; {rounds} bad days, {len(looks)} looks"
    finally:
        for process in group.processes:
            process.kill()
        if java is not None:
            java.process.kill()
        if movers is not None:
            movers.end()


def main():
    program, folder = sys.argv[1:3]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 4
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else random.randrange(1 << 30)
    print(f"seed {seed}", flush=True)
    os.makedirs(folder, exist_ok=True)
    try:
        group, draws = Group(program, folder), random.Random(seed)
        done = run(group, seed, rounds, lambda movers: bad_day(group, draws, movers))
        print(f"ok: replicas: {done}")
    except BaseException as error:
        print(f"FAILED: replicas: {error!r}")
        raise


if __name__ == "__main__":
    main()
