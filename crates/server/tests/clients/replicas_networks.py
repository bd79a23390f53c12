"""A group of replicas on networks that are cut, slow and unreliable, and clients that move money.

    replicas_networks.py PATH_OF_REMANENT FOLDER [ROUNDS [SEED [REPLICAS]]]

Each replica is a process in a network namespace of its own, three if nothing is said. One link
leads to a bridge, over which replicas reach each other, with certificates; another one leads to
the clients, with TLS too, and stays whole: so clients also reach a replica that is cut off.

A round is one of these, by the seed, each once before one comes again: the leader or others are
cut off, as a minority; messages pass in one direction alone, or not between two; a link goes and
comes; frames are late, lost, doubled and change places; a process is killed, ended or stopped for
a while; one is killed that is cut off; no majority is left; and first, a follower that was cut off
comes back, and its leader goes on. What replicas.py says of bad days has to hold after every round.
Besides, a minority refuses to change anything, in time and with words that say why, and answers who
reads; without a majority nothing is acknowledged.

All is made in namespaces that end with this process, however it ends; who is not root makes them
in a user namespace. Where they cannot be made, the test is skipped. Programs: ip, unshare, openssl.
"""

import concurrent.futures
import heapq
import itertools
import os
import pathlib
import random
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import psycopg

import replicas

# Set where this runs in its namespaces.
INSIDE = "REMANENT_NETWORKS_INSIDE"
PROBE = """mount -t tmpfs none /run; ip netns add probe; ip netns exec probe true
ip link add bridge0 type bridge; ip link add veth0 type veth peer name veth1 netns probe"""
# How long a minority may take to answer, a commit and a question; usual are 1 s and some ms.
REFUSED_MAX, ANSWERED_MAX = 10, 5
# On a slow machine a leader may be lost by itself.
COMES_BACK_MAX = 3
# Of <linux/if_packet.h> and <linux/if_ether.h>.
SOL_PACKET, PACKET_VNET_HDR, PACKET_IGNORE_OUTGOING, ETH_P_ALL = 263, 15, 23, 3


def isolate():
    """Begins again in namespaces; returns why that cannot be."""
    for name in ("unshare", "ip", "openssl"):
        if shutil.which(name) is None:
            return f"{name} is not installed"
    for more in ("--net", "--net --user --map-root-user"):
        unshare = f"unshare {more} --mount --pid --mount-proc --fork --kill-child".split()
        probe = subprocess.run([*unshare, "sh", "-ec", PROBE], capture_output=True, text=True)
        if probe.returncode == 0:
            os.environ[INSIDE] = "1"
            os.execvp("unshare", [*unshare, sys.executable, *sys.argv])
    return (probe.stderr.strip().splitlines() or ["unshare fails"])[-1]


def ip(*commands):
    for each in commands:
        done = subprocess.run(["ip", *each.split()], capture_output=True, text=True)
        assert done.returncode == 0, f"ip {each}: {done.stderr}"


class Network:
    """A namespace for each replica, from 0 on, with links to a bridge and to the clients."""

    def __init__(self, count):
        self.count, self.mends = count, []  # what takes back what was done
        subprocess.run(["mount", "-t", "tmpfs", "none", "/run"], check=True)
        ip(
            "link set lo up", "link add bridge up type bridge",
            "link add spare0 up type veth peer name spare1", "link set spare1 up",
        )  # fmt: skip
        for i in range(count):
            ip(
                f"netns add replica{i}", f"-n replica{i} link set lo up",
                f"link add port{i} type veth peer name peers netns replica{i}",
                f"link set port{i} master bridge up",
                f"-n replica{i} address add {self.peer_host(i)}/24 dev peers",
                f"-n replica{i} link set peers up",
                f"link add client{i} type veth peer name clients netns replica{i}",
                f"address add 10.77.{i + 1}.1/30 dev client{i}", f"link set client{i} up",
                f"-n replica{i} address add {self.client_host(i)}/30 dev clients",
                f"-n replica{i} link set clients up",
            )  # fmt: skip

    def peer_host(self, replica):
        return f"10.77.0.{replica + 1}"

    def client_host(self, replica):
        return f"10.77.{replica + 1}.2"

    def unplug(self, replica):
        ip(f"link set port{replica} down")
        self.mends.append(lambda: ip(f"link set port{replica} up"))

    def silence(self, sender, receiver):
        """What one sends goes to a place where nobody is; nobody is told."""
        to = f"{self.peer_host(receiver)} dev peers"
        ip(f"-n replica{sender} neigh replace {to} lladdr 02:00:00:00:00:99 nud permanent")
        self.mends.append(lambda: ip(f"-n replica{sender} neigh delete {to}"))

    def disturb(self, replica, *how):
        """Frames from and to a replica go through a process that treats them badly."""
        ip(f"link set port{replica} nomaster", "link set spare1 master bridge")
        relay = subprocess.Popen([sys.executable, __file__, "--relay", f"port{replica}", *how])

        def mend():
            assert relay.poll() is None, "frames are not passed on any more"
            relay.kill()
            relay.wait()
            ip("link set spare1 nomaster", f"link set port{replica} master bridge")

        self.mends.append(mend)

    def mend(self):
        while self.mends:
            self.mends.pop()()


def relay(port, seed, late_s, lost, doubled):
    """Passes frames between a port and the bridge, until it is killed; what has to be known of
    a frame to send it again (virtio_net_hdr) stands before it."""
    late_s, lost, doubled = map(float, (late_s, lost, doubled))
    draws, waiting, order = random.Random(int(seed)), [], itertools.count()
    ends = [socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) for _ in range(2)]
    for end, name in zip(ends, (port, "spare0")):
        end.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
        end.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        end.bind((name, ETH_P_ALL))
    while True:
        pause = max(0, waiting[0][0] - time.monotonic()) if waiting else None
        for end in select.select(ends, [], [], pause)[0]:
            frame, other = end.recv(1 << 17), ends[1 - ends.index(end)]
            copies = 1 + (draws.random() < doubled)
            for _ in range(copies if draws.random() >= lost else 0):
                due = time.monotonic() + draws.uniform(0, late_s)
                heapq.heappush(waiting, (due, next(order), other, frame))
        while waiting and waiting[0][0] <= time.monotonic():
            *_, other, frame = heapq.heappop(waiting)
            other.send(frame)


class Group(replicas.Group):
    """Processes in the namespaces of a network, which show certificates."""

    peer_host, client_host = Network.peer_host, Network.client_host

    def __init__(self, program, folder, network):
        self.network, self.files = network, pathlib.Path(folder, "certificates").absolute()
        self.make_certificates()
        os.environ["REMANENT_PASSWORD"] = password = f"{random.getrandbits(64):x}"
        # The role that is made where nobody can log in.
        said = ["user=remanent", f"password={password}", "sslmode=verify-full"]
        said.append(f"sslrootcert={self.files / 'authority.pem'}")
        self.user, self.java_user = " ".join(said), "&".join(said)
        super().__init__(program, folder, network.count)

    def make_certificates(self):
        self.files.mkdir(parents=True)
        (self.files / "config").write_text("[req]\ndistinguished_name=name\n[name]\n")
        make = "openssl req -x509 -config config -nodes -days 30 -newkey rsa:2048".split()
        signed = {"authority": ["basicConstraints=critical,CA:TRUE"]}
        for i in range(self.network.count):
            hosts = f"subjectAltName=IP:{self.peer_host(i)},IP:{self.client_host(i)}"
            signed[str(i)] = [hosts, "-CA", "authority.pem", "-CAkey", "authority.key"]
        for name, more in signed.items():
            files = ["-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem"]
            command = [*make, *files, "-addext", *more]
            subprocess.run(command, cwd=self.files, check=True, capture_output=True)

    def within(self, replica):
        return ["ip", "netns", "exec", f"replica{replica}"]

    def access(self, replica):
        own = {"certificate": f"{replica}.pem", "key": f"{replica}.key"}
        among = {f"replica-{name}": file for name, file in own.items()}
        files = own | among | {"replica-authority": "authority.pem"}
        return [each for name, file in files.items() for each in (f"--{name}", self.files / file)]


def within(limit_s, call):
    """What a call returns or raises, in time."""
    met = concurrent.futures.Future()

    def run():
        try:
            met.set_result(call())
        except Exception as error:
            met.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    concurrent.futures.wait([met], limit_s)
    assert met.done(), f"a minority says nothing for {limit_s} s"
    return met.result()


class Days:
    """What happens to a group, a method each; they return what it was, in words."""

    def __init__(self, group, draws):
        self.group, self.network, self.draws = group, group.network, draws
        self.deck, self.tried, self.denied = [], 0, set()

    def day(self, movers):
        if not self.deck:
            self.deck = [
                self.leader_cut_off, self.followers_cut_off, self.one_way, self.flapping,
                self.disturbed, self.killed_while_cut_off, self.no_majority,
                lambda: replicas.bad_day(self.group, self.draws, movers),
            ]  # fmt: skip
            self.draws.shuffle(self.deck)
            self.deck.append(self.follower_comes_back)
        self.movers, self.leader = movers, self.group.leader()
        what = self.deck.pop()()
        self.network.mend()
        replicas.await_moves(movers)
        return what

    def victim(self):
        return self.draws.choice([self.leader, *self.others(1)])

    def named(self, *part):
        who = "the leader" if part[0] == self.leader else "a follower"
        return f"{who} was" if len(part) == 1 else f"{len(part)} followers were"

    def others(self, count, than=()):
        """So many replicas, without the leader and those."""
        return self.draws.sample(sorted({*range(self.network.count)} - {self.leader, *than}), count)

    def cut_off(self, part):
        """Nothing passes between these replicas and the others."""
        if self.draws.random() < 0.5:
            for replica in part:
                self.network.unplug(replica)
            return "unplugged"
        for one in part:
            for other in set(range(self.network.count)) - set(part):
                self.network.silence(one, other)
                self.network.silence(other, one)
        return "cut off"

    def leader_cut_off(self):
        part = [self.leader, *self.others(self.network.count // 2 - 1)]
        with replicas.connect(self.group.dsn([self.leader])) as conn:
            how = self.cut_off(part)
            took, met, _ = self.refused(conn)
        replicas.await_moves(self.movers)
        # A follower beside it hears it, and may name it.
        words = "; ".join(self.minority(each, each != self.leader) for each in part)
        return f"the leader was {how}: a client met {met} after {took:.2f} s; {words}"

    def followers_cut_off(self):
        part = self.others(self.network.count // 2)
        with replicas.connect(self.group.dsn(part[:1])) as conn:
            how = self.cut_off(part)
            for _ in range(40):
                self.answered(conn)
                time.sleep(0.05)
            self.refused(conn, ["25006"])
        replicas.await_moves(self.movers)
        return f"{self.named(*part)} {how}: {'; '.join(map(self.minority, part))}"

    def follower_comes_back(self):
        """A session of the leader goes on when a follower that was cut off alone comes back."""
        for attempt in range(COMES_BACK_MAX):
            self.leader = self.group.leader()
            try:
                with replicas.connect(self.group.dsn([self.leader])) as conn:
                    how = self.cut_off(self.others(1))
                    time.sleep(self.draws.uniform(1.5, 3))
                    self.network.mend()
                    time.sleep(self.draws.uniform(2.5, 3.5))
                    self.answered(conn)
            except psycopg.OperationalError as error:
                self.movers.judge(error)
                continue
            if self.group.leader() == self.leader:
                times = f", the {attempt + 1}. time" if attempt else ""
                return f"a follower was {how} and came back, and the same one leads{times}"
        raise AssertionError(f"{COMES_BACK_MAX} leaders were deposed by one that came back")

    def minority(self, replica, may_name=False):
        """It answers who reads, and refuses to change anything, with words that say why."""
        begun, read = time.monotonic(), None
        while True:
            try:
                with replicas.connect(self.group.dsn([replica])) as conn:
                    self.answered(conn)
                    read = read or time.monotonic() - begun
                    _, met, why = self.refused(conn, ["25006"])
                    if may_name or "hears of no majority" in why:
                        took = time.monotonic() - begun
                        return f"read after {read:.2f} s, refuses ({met}) after {took:.2f} s"
            except psycopg.OperationalError as error:
                # Who led before may just have ended its sessions.
                self.movers.judge(error)
                why = error
            assert time.monotonic() < begun + ANSWERED_MAX, f"a minority, read {read}, says {why}"
            time.sleep(0.02)

    def answered(self, conn):
        text = "select sum(money), count(*) from account"
        found = within(ANSWERED_MAX, lambda: conn.execute(text).fetchone())
        assert found == (replicas.ACCOUNTS * replicas.FIRST, replicas.ACCOUNTS), found

    def refused(self, conn, states=("25006", "40001", "57P01", "57P02", "57P03", "57P04", "gone")):
        """A change that cannot be made: how long it takes to say so, the state, and why."""
        self.tried -= 1
        begun, change = time.monotonic(), "insert into moved values (%s, 0, 0, 0)"
        try:
            within(REFUSED_MAX, lambda: conn.execute(change, (self.tried,)))
        except psycopg.Error as error:
            state, why = error.sqlstate or "gone", f"{error.diag.message_detail or error}"
        else:
            raise AssertionError("a minority has acknowledged a change")
        assert state in states, f"a minority refuses with {state} {why}"
        if state == "25006":
            self.denied.add(self.tried)
        return time.monotonic() - begun, state, why

    def check(self):
        """After each round; what was denied is not there."""
        for moved in replicas.check(self.group, self.movers):
            wrong = self.denied & moved.keys()
            assert not wrong, f"{len(wrong)} changes were refused and are there"

    def one_way(self):
        victim, other = self.victim(), self.others(1)[0]
        pairs = [(victim, each) for each in range(self.network.count) if each != victim]
        kind = self.draws.choice(["not heard", "deaf", "apart"])
        if kind == "apart":
            victim, pairs = other, [(self.leader, other), (other, self.leader)]
        for pair in pairs:
            self.network.silence(*(reversed(pair) if kind == "deaf" else pair))
        time.sleep(self.draws.uniform(1, 3))
        # A majority hears each other all the same.
        replicas.await_moves(self.movers)
        return f"{self.named(victim)} {kind}"

    def flapping(self):
        victim, count = self.victim(), self.draws.randint(5, 12)
        for _ in range(count):
            self.cut_off([victim])
            time.sleep(self.draws.uniform(0.05, 0.3))
            self.network.mend()
            time.sleep(self.draws.uniform(0.05, 0.3))
        return f"{self.named(victim)} cut off {count} times"

    def disturbed(self):
        victim = self.victim()
        how = [self.draws.uniform(0, most) for most in (0.1, 0.3, 0.3)]
        self.network.disturb(victim, str(self.draws.randrange(1 << 30)), *map(str, how))
        time.sleep(self.draws.uniform(2, 4))
        what = "up to {:.0%} of a second late, {:.0%} lost, {:.0%} doubled".format(*how)
        return f"{self.named(victim)} disturbed: frames {what}"

    def killed_while_cut_off(self):
        victim = self.victim()
        how = self.cut_off([victim])
        time.sleep(self.draws.uniform(0, 2))
        self.group.end(victim, signal.SIGKILL)
        replicas.await_moves(self.movers)
        self.group.start(victim)
        return f"{self.named(victim)} {how}, killed and begun again"

    def no_majority(self):
        """What is left is no majority: nothing may be acknowledged."""
        part = self.others(self.network.count // 2)
        victim = self.draws.choice([self.leader, *self.others(1, part)])
        kind = self.draws.choice(["unplugged too", "killed", "stopped"])
        how, process = self.cut_off(part), self.group.processes[victim]
        if kind == "unplugged too":
            self.network.unplug(victim)
        else:
            process.send_signal(signal.SIGKILL if kind == "killed" else signal.SIGSTOP)
        # What was acknowledged before may not have been told yet.
        time.sleep(1)
        count = len(self.movers.acknowledged)
        time.sleep(self.draws.uniform(0.5, 2))
        assert len(self.movers.acknowledged) == count, "acknowledged without a majority"
        if kind == "stopped":
            # Its clients wait for it until it goes on, whoever leads by then.
            process.send_signal(signal.SIGCONT)
        elif self.draws.random() < 0.5:
            self.network.mend()
            replicas.await_moves(self.movers)
        if kind == "killed":
            process.wait(replicas.PATIENCE)
            self.group.start(victim)
        return f"{self.named(*part)} {how}, {self.named(victim)} {kind}"


def main():
    if sys.argv[1] == "--relay":
        return relay(*sys.argv[2:])
    if INSIDE not in os.environ:
        return print(f"skipped: networks: no network namespaces: {isolate()}")
    # This is the first process of its namespace: signals without a handler are not heard.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))
    program, folder = sys.argv[1:3]
    given = [int(each) for each in sys.argv[3:]]
    rounds, seed, count = given + [4, random.randrange(1 << 30), 3][len(given) :]
    print(f"seed {seed}", flush=True)
    try:
        group = Group(program, folder, Network(count))
        days = Days(group, random.Random(seed))
        print(f"ok: networks: {replicas.run(group, seed, rounds, days.day, days.check)}")
    except BaseException as error:
        print(f"FAILED: networks: {error!r}")
        raise


if __name__ == "__main__":
    main()
