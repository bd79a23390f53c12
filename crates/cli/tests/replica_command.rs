//! `serve --replica` as an operator starts it: three processes, clients that look for the one that
//! takes changes, and what each of them says.
#![cfg(feature = "sql")]

#[expect(dead_code, reason = "a part of it is used here")]
mod program;

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use program::{Folder, err, out, remanent};
use tokio_postgres::config::TargetSessionAttrs;
use tokio_postgres::{Client, Config, Error, NoTls, SimpleQueryMessage};

/// How long a group may take for anything, on a machine that others use.
const PATIENCE: Duration = Duration::from_secs(60);

/// Three replicas, of which each is a process.
struct Group {
    folder: Folder,
    peers: [u16; 3],
    clients: [u16; 3],
    processes: [Option<Child>; 3],
    more_flags: &'static [&'static str],
}

impl Group {
    fn start(name: &str) -> Self {
        Self::start_with(name, &[])
    }

    fn start_with(name: &str, more_flags: &'static [&'static str]) -> Self {
        let listeners = [(); 6].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [a, b, c, d, e, f] = listeners.map(|it| it.local_addr().unwrap().port());
        let folder = Folder::new(name);
        let (peers, clients, processes) = ([a, b, c], [d, e, f], [None, None, None]);
        let mut group = Self { folder, peers, clients, processes, more_flags };
        (0..3).for_each(|replica| group.start_one(replica));
        group
    }

    fn start_one(&mut self, replica: usize) {
        let others = (0..3).filter(|other| *other != replica);
        let others: Vec<_> =
            others.map(|at| format!("{}@127.0.0.1:{}", at + 1, self.peers[at])).collect();
        let mut command = Command::new(env!("CARGO_BIN_EXE_remanent"));
        command.args(["serve", &self.folder.path(&format!("{replica}"))]);
        command.args(["--listen", &format!("127.0.0.1:{}", self.clients[replica]), "--trust"]);
        command.args(["--replica", &format!("{}@127.0.0.1:{}", replica + 1, self.peers[replica])]);
        command.args(["--peers", &others.join(","), "--memory", "128M", "--grace", "1"]);
        command.args(["--change-feed", "16M"]).args(self.more_flags);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let out = child.stdout.take().unwrap();
        // Whoever writes may not wait for somebody who reads.
        std::thread::spawn(move || BufReader::new(out).lines().for_each(drop));
        self.processes[replica] = Some(child);
    }

    fn end_one(&mut self, replica: usize, signal: &str) {
        let mut child = self.processes[replica].take().expect("it runs");
        let kill = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(kill.success());
        let status = child.wait().unwrap();
        assert!(signal == "-KILL" || status.success(), "replica {}: {status}", replica + 1);
    }

    fn config(&self, replicas: &[usize]) -> Config {
        let mut config = Config::new();
        for &replica in replicas {
            config.host("127.0.0.1").port(self.clients[replica]);
        }
        config.user("tester").dbname("db").connect_timeout(Duration::from_secs(5));
        config
    }

    /// How a replica is reached as psql says it, by who sees all up to a position.
    fn settings(&self, replica: usize, position: &str) -> String {
        let port = self.clients[replica];
        format!(
            "host=127.0.0.1 port={port} user=tester dbname=db \
             options='-c remanent.read_after={position}'"
        )
    }

    /// A client of the replica that takes changes.
    async fn leader(&self) -> (usize, Client) {
        let mut config = self.config(&[0, 1, 2]);
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        let client = connected(&config).await;
        for replica in 0..3 {
            if self.processes[replica].is_none() {
                continue;
            }
            let other = connected(&self.config(&[replica])).await;
            if value(&other, "show in_hot_standby").await.unwrap() == "off" {
                return (replica, client);
            }
        }
        panic!("a client has found a leader, and there is none");
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for child in self.processes.iter_mut().flatten() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A feed that follows a table on whatever replica is there, and the keys that it has said.
struct Follower {
    feed: Child,
    keys: mpsc::Receiver<i32>,
}

impl Follower {
    fn start(group: &Group) -> Self {
        let ports = group.clients.map(|port| port.to_string()).join(",");
        let connection = format!("host=127.0.0.1,127.0.0.1,127.0.0.1 port={ports} user=tester");
        let mut command = Command::new(env!("CARGO_BIN_EXE_remanent"));
        command.args(["feed", &connection, "--from", "0", "--follow", "--table", "public.t"]);
        let mut feed = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(feed.stdout.take().unwrap()).lines();
        let (said, keys) = mpsc::channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let key = line.split_once("\"new\":{\"a\":").map(|(_, rest)| rest);
                let key = key.and_then(|rest| rest.split('}').next()?.parse().ok());
                if let Some(key) = key
                    && said.send(key).is_err()
                {
                    return;
                }
            }
        });
        Self { feed, keys }
    }

    /// The keys that were said, once there are so many.
    fn keys(&self, count: usize) -> Vec<i32> {
        (0..count).map(|_| self.keys.recv_timeout(PATIENCE).expect("there are more")).collect()
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.feed.kill();
        let _ = self.feed.wait();
    }
}

/// A client, when one is let in.
async fn connected(config: &Config) -> Client {
    let until = Instant::now() + PATIENCE;
    loop {
        match config.connect(NoTls).await {
            Ok((client, connection)) => {
                tokio::spawn(connection);
                return client;
            }
            Err(error) if Instant::now() > until => panic!("{error:?}"),
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

/// The first value of an answer.
async fn value(client: &Client, text: &str) -> Result<String, Error> {
    let answer = client.simple_query(text).await?;
    let row = answer.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    });
    Ok(row.unwrap_or_default())
}

fn state(error: &Error) -> &str {
    error.code().map_or("", |code| code.code())
}

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
}

#[test]
fn followers_show_what_the_leader_has_and_take_no_changes() {
    run(async {
        let group = Group::start("replica-followers");
        let (leads, leader) = group.leader().await;
        let follows = [0, 1, 2].into_iter().find(|replica| *replica != leads).unwrap();
        let follower = connected(&group.config(&[follows])).await;
        let until_there = async || {
            let position = value(&leader, "show remanent.position").await.unwrap();
            value(&follower, &format!("set remanent.read_after = '{position}'")).await.unwrap();
        };
        // A client that asked before the table was there is answered by the catalog that fits.
        assert_eq!(state(&value(&follower, "select a from t").await.unwrap_err()), "42P01");
        leader.batch_execute("create table t (a serial primary key, b text)").await.unwrap();
        leader.batch_execute("insert into t (b) values ('x'), ('y')").await.unwrap();
        leader.batch_execute("create view v as select count(*) as n from t").await.unwrap();
        leader.batch_execute("create role ann; grant select on t to ann").await.unwrap();
        until_there().await;
        assert_eq!(value(&follower, "select n from v").await.unwrap(), "2");
        assert_eq!(value(&follower, "select pg_is_in_recovery()").await.unwrap(), "t");
        let rights = "select has_table_privilege('ann', 't', 'select')";
        assert_eq!(value(&follower, rights).await.unwrap(), "t");
        leader.batch_execute("alter table t add column c int default 7").await.unwrap();
        until_there().await;
        assert_eq!(value(&follower, "select sum(c) from t").await.unwrap(), "14");
        leader.batch_execute("drop view v; drop table t; create table u (a int)").await.unwrap();
        until_there().await;
        assert_eq!(state(&value(&follower, "select a from t").await.unwrap_err()), "42P01");
        assert_eq!(value(&follower, "select count(*) from u").await.unwrap(), "0");

        // Who has read a table goes on reading it, whatever becomes of it.
        leader.batch_execute("create table w (a int); insert into w values (5)").await.unwrap();
        until_there().await;
        let reader = connected(&group.config(&[follows])).await;
        let begin = "begin isolation level repeatable read; select a from w";
        reader.batch_execute(begin).await.unwrap();
        leader.batch_execute("drop table w").await.unwrap();
        until_there().await;
        assert_eq!(state(&value(&follower, "select a from w").await.unwrap_err()), "42P01");
        assert_eq!(value(&reader, "select a from w").await.unwrap(), "5");
        reader.batch_execute("commit").await.unwrap();

        for text in ["insert into u values (1)", "create table w (a int)", "create role ben"] {
            let refused = value(&follower, text).await.unwrap_err();
            assert_eq!(state(&refused), "25006", "{text}: {refused:?}");
            let detail = refused.as_db_error().unwrap().detail().unwrap();
            let there = format!("127.0.0.1:{}", group.clients[leads]);
            assert!(detail.contains(&there), "{detail}");
        }
        follower.batch_execute("begin; select a from u; commit").await.unwrap();
        let read_only = value(&follower, "show transaction_read_only").await.unwrap();
        assert_eq!(read_only, "on");
        let lost = value(&follower, "set remanent.read_after = '18446744073709551615'");
        assert_eq!(state(&lost.await.unwrap_err()), "55P03");
    });
}

/// What EXPLAIN ANALYZE of a query says.
async fn analyzed(client: &Client, query: &str) -> String {
    let answer = client.simple_query(&format!("explain analyze {query}")).await.unwrap();
    let lines = answer.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Whether all three replicas have run a part of a query, and none was lost.
async fn is_divided(client: &Client, query: &str) -> bool {
    let plan = analyzed(client, query).await;
    assert!(plan.contains("Stage: tasks of several replicas, by account"), "{plan}");
    plan.contains("tasks=3") && plan.contains("lost=0")
}

/// A table whose sum stays the same, though rows of it change all the time: all tasks of a query
/// read one state, and the answer is the same on each replica, and when one is lost.
#[test]
fn queries_are_divided_over_the_group() {
    run(async {
        let mut group = Group::start_with("replica-queries", &["--divide-queries", "100000"]);
        let (leads, leader) = group.leader().await;
        let table = "create table account (id int primary key, branch int, amount bigint)";
        leader.batch_execute(table).await.unwrap();
        let rows =
            "insert into account select i, i % 7, 100 from generate_series(1, 200000) as g(i)";
        leader.batch_execute(rows).await.unwrap();
        let position = value(&leader, "show remanent.position").await.unwrap();
        let others: Vec<usize> = (0..3).filter(|replica| *replica != leads).collect();
        let follower = connected(&group.config(&others[..1])).await;
        value(&follower, &format!("set remanent.read_after = '{position}'")).await.unwrap();
        let query = "select sum(amount * 2 * 1 - amount), count(*), max(branch * 1) from account \
                     where amount + 1 > -1000000 and branch + 1 + 1 > 0";
        for client in [&leader, &follower] {
            let until = Instant::now() + PATIENCE;
            while !is_divided(client, query).await {
                assert!(Instant::now() < until, "{}", analyzed(client, query).await);
            }
            assert_eq!(value(client, query).await.unwrap(), "20000000");
        }

        // From the first rows to the last ones, which tasks of two replicas read.
        let writer = connected(&group.config(&[leads])).await;
        let (sender, mut end) = tokio::sync::oneshot::channel::<()>();
        let moving = async {
            let mut moved = 0;
            while end.try_recv().is_err() {
                let [from, to] = [1 + moved % 60_000, 140_000 + moved % 60_000];
                let change = format!(
                    "begin; update account set amount = amount - 1 where id = {from}; \
                     update account set amount = amount + 1 where id = {to}; commit"
                );
                writer.batch_execute(&change).await.unwrap();
                moved += 7919;
            }
            moved / 7919
        };
        let asking = async {
            let mut divided = 0;
            for _ in 0..15 {
                for client in [&leader, &follower] {
                    divided += u32::from(is_divided(client, query).await);
                    assert_eq!(value(client, query).await.unwrap(), "20000000");
                }
            }
            sender.send(()).unwrap();
            divided
        };
        let (moved, divided) = futures::future::join(moving, asking).await;
        assert!(moved > 0 && divided > 10, "{moved} changes, {divided} of 30 queries divided");

        group.end_one(others[1], "-KILL");
        for client in [&leader, &follower, &leader] {
            assert_eq!(value(client, query).await.unwrap(), "20000000");
        }
        group.start_one(others[1]);
        let until = Instant::now() + PATIENCE;
        while !is_divided(&leader, query).await {
            assert!(Instant::now() < until, "{}", analyzed(&leader, query).await);
        }
        // A task keeps no database open when its query has ended.
        drop((leader, follower, writer));
        (0..3).for_each(|replica| group.end_one(replica, "-TERM"));
    });
}

#[test]
fn a_follower_reads_nothing_older_than_it_may() {
    run(async {
        let mut group = Group::start("replica-fresh");
        let (leader, client) = group.leader().await;
        client.batch_execute("create table t (a int primary key)").await.unwrap();
        let follower = (leader + 1) % 3;
        let reader = connected(&group.config(&[follower])).await;
        assert_eq!(value(&reader, "show remanent.max_staleness").await.unwrap(), "off");
        let refused = value(&reader, "set remanent.max_staleness = 'soon'").await.unwrap_err();
        assert_eq!(state(&refused), "22023");
        reader.batch_execute("set remanent.max_staleness = 0").await.unwrap();
        for i in 1..=40 {
            client.batch_execute(&format!("insert into t values ({i})")).await.unwrap();
            let newest = format!("select a from t where a = {i}");
            let text = if i % 2 == 0 { "select max(a) from t" } else { &newest };
            assert_eq!(value(&reader, text).await.unwrap(), i.to_string());
        }
        // Of several sessions one asks, and the leader can be asked as well.
        let leading = connected(&group.config(&[leader])).await;
        leading.batch_execute("set remanent.max_staleness = '20ms'").await.unwrap();
        let others: Vec<_> = vec![connected(&group.config(&[follower])).await, leading];
        for other in &others {
            let counted = value(other, "select count(*) from t").await.unwrap();
            assert_eq!(counted, "40");
        }
        // A transaction that keeps its snapshot is as old as that.
        reader.batch_execute("begin isolation level repeatable read").await.unwrap();
        assert_eq!(value(&reader, "select count(*) from t").await.unwrap(), "40");
        client.batch_execute("insert into t values (41)").await.unwrap();
        assert_eq!(value(&reader, "select count(*) from t").await.unwrap(), "40");
        reader.batch_execute("commit").await.unwrap();
        assert_eq!(value(&reader, "select count(*) from t").await.unwrap(), "41");
        // Without a majority nobody knows what is committed; what may be old is read.
        for other in (0..3).filter(|other| *other != follower) {
            group.end_one(other, "-KILL");
        }
        let unknown = value(&reader, "select count(*) from t").await.unwrap_err();
        assert_eq!(state(&unknown), "57P03", "{unknown:?}");
        reader.batch_execute("set remanent.max_staleness = '200000000000d'").await.unwrap();
        assert_eq!(value(&reader, "select count(*) from t").await.unwrap(), "41");
        reader.batch_execute("reset remanent.max_staleness").await.unwrap();
        assert_eq!(value(&reader, "select count(*) from t").await.unwrap(), "41");
    });
}

#[test]
fn the_group_is_seen_from_both_sides() {
    run(async {
        let group = Group::start("replica-seen");
        let (leads, leader) = group.leader().await;
        let count = "select count(*) from pg_stat_replication where sync_state = 'quorum'";
        let until = Instant::now() + PATIENCE;
        let all = "select count(*) from pg_stat_replication where state = 'streaming'";
        while value(&leader, all).await.unwrap() != "2" {
            assert!(Instant::now() < until, "followers do not come near");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(value(&leader, count).await.unwrap(), "2");
        let none = "select count(*) from pg_stat_wal_receiver";
        assert_eq!(value(&leader, none).await.unwrap(), "0");
        let follows = [0, 1, 2].into_iter().find(|replica| *replica != leads).unwrap();
        let follower = connected(&group.config(&[follows])).await;
        // Where replicas are is for superusers.
        leader.batch_execute("create role ann login").await.unwrap();
        let mut config = group.config(&[leads]);
        let ann = connected(config.user("ann")).await;
        let hidden = "select count(*) from pg_stat_replication where client_addr is not null";
        assert_eq!(value(&ann, hidden).await.unwrap(), "0");
        assert_eq!(value(&leader, hidden).await.unwrap(), "2");
        let port = "select sender_port from pg_stat_wal_receiver";
        let until = Instant::now() + PATIENCE;
        while value(&follower, port).await.unwrap() != group.peers[leads].to_string() {
            assert!(Instant::now() < until, "a follower does not know its leader");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(value(&follower, count).await.unwrap(), "0");
        for (replica, does) in [(leads, "replica: leads; "), (follows, "replica: follows; ")] {
            let top = remanent(&["top", "--once", &group.folder.path(&format!("{replica}"))]);
            assert!(out(&top).contains(does), "{}{}", out(&top), err(&top));
        }
        let levels =
            [("replicated", "on"), ("replicated_disk", "on"), ("disk", "on"), ("os", "off")];
        for (level, waits) in levels {
            leader.batch_execute(&format!("set durability = '{level}'")).await.unwrap();
            leader.batch_execute(&format!("create table of_{level} (a int)")).await.unwrap();
            assert_eq!(value(&leader, "show durability").await.unwrap(), level);
            assert_eq!(value(&leader, "show synchronous_commit").await.unwrap(), waits);
        }
    });
}

/// A backup that a server makes, once it lets somebody in.
fn backed_up(connection: String, target: String) -> (String, std::process::Output) {
    let until = Instant::now() + PATIENCE;
    loop {
        let output = remanent(&["backup", &connection, &target]);
        if output.status.success() || Instant::now() > until {
            return (target, output);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A backup of each replica while money moves: a database of its own, of one moment.
#[test]
fn each_replica_is_backed_up_while_it_goes_on() {
    run(async {
        let group = Group::start("replica-backups");
        let (_, leader) = group.leader().await;
        leader
            .batch_execute(
                "create table account (id int primary key, amount bigint); \
                 insert into account select i, 100 from generate_series(1, 20000) as g(i)",
            )
            .await
            .unwrap();
        let position = value(&leader, "show remanent.position").await.unwrap();
        let (sender, mut end) = tokio::sync::oneshot::channel::<()>();
        let moving = async {
            let mut moved = 0;
            while end.try_recv().is_err() {
                let (from, to) = (1 + moved % 10_000, 10_001 + moved % 10_000);
                let change = format!(
                    "begin; update account set amount = amount - 1 where id = {from}; \
                     update account set amount = amount + 1 where id = {to}; commit"
                );
                leader.batch_execute(&change).await.unwrap();
                moved += 1;
            }
            moved
        };
        let backing_up = async {
            let made = (0..3).map(|replica| {
                let (connection, target) = (
                    group.settings(replica, &position),
                    group.folder.path(&format!("copy of {replica}")),
                );
                tokio::task::spawn_blocking(move || backed_up(connection, target))
            });
            let mut targets = Vec::new();
            for made in made {
                let (target, output) = made.await.unwrap();
                assert_eq!((output.status.code(), err(&output)), (Some(0), String::new()));
                targets.push(target);
            }
            sender.send(()).unwrap();
            targets
        };
        let (moved, targets) = futures::future::join(moving, backing_up).await;
        assert!(moved > 0);
        for target in targets {
            assert_eq!(remanent(&["check", &target]).status.code(), Some(0));
            let query = "insert into account values (0, 0); select sum(amount) from account";
            let output = remanent(&[&target, "--command", query]);
            assert!(out(&output).contains("2000000"), "{}{}", out(&output), err(&output));
            let again = remanent(&["backup", &group.settings(0, &position), &target]);
            assert_eq!(again.status.code(), Some(1));
            assert!(err(&again).contains("already"), "{}", err(&again));
        }
        let nobody = remanent(&["backup", "host=127.0.0.1 port=1", &group.folder.path("none")]);
        assert_eq!(nobody.status.code(), Some(1), "{}", err(&nobody));
        assert!(!std::path::Path::new(&group.folder.path("none")).exists());
    });
}

#[test]
fn replicas_that_end_one_after_the_other_lose_nothing() {
    run(async {
        let mut group = Group::start("replica-restarts");
        let (_, leader) = group.leader().await;
        leader.batch_execute("create table t (a int primary key)").await.unwrap();
        let follower = Follower::start(&group);
        let (mut next, mut acknowledged) = (0, Vec::new());
        for (victim, signal) in [(0, "-TERM"), (1, "-TERM"), (2, "-TERM"), (3, "-KILL")] {
            let (leads, mut client) = group.leader().await;
            // The last one is whoever leads.
            let victim = if victim == 3 { leads } else { victim };
            let (said, heard) = mpsc::channel();
            let mut ending = Some((victim, signal, said));
            let until = Instant::now() + PATIENCE;
            let mut behind = 0;
            while behind < 50 {
                assert!(Instant::now() < until, "nobody takes changes any more");
                if acknowledged.len() % 50 == 25
                    && let Some((victim, signal, said)) = ending.take()
                {
                    group.end_one(victim, signal);
                    said.send(()).unwrap();
                }
                next += 1;
                match client.execute("insert into t values ($1)", &[&next]).await {
                    Ok(_) => {
                        acknowledged.push(next);
                        behind += i32::from(heard.try_recv().is_ok() || behind > 0);
                    }
                    Err(error) => {
                        let is_known = matches!(state(&error), "" | "40001" | "57P01" | "57P04");
                        assert!(is_known, "{error:?}");
                        (_, client) = group.leader().await;
                    }
                }
            }
            group.start_one(victim);
        }
        let (_, client) = group.leader().await;
        let position = value(&client, "show remanent.position").await.unwrap();
        for replica in 0..3 {
            let mut config = group.config(&[replica]);
            config.options(format!("-c remanent.read_after={position}"));
            let client = connected(&config).await;
            let rows = client.query("select a from t order by a", &[]).await.unwrap();
            let there: Vec<i32> = rows.iter().map(|row| row.get(0)).collect();
            let is_there = |number: &i32| there.binary_search(number).is_ok();
            assert!(acknowledged.iter().all(is_there), "replica {} lacks some", replica + 1);
            assert!(there.len() <= next as usize);
            if replica == 0 {
                // Each once, in the order in which they were committed, whoever led and was asked.
                assert_eq!(follower.keys(there.len()), there);
            }
        }
    });
}

/// A follower cannot insert a row in the place of one that somebody reads. Once it is elected, it
/// does not wait for that.
#[test]
fn who_reads_what_was_deleted_does_not_keep_a_group_without_a_leader() {
    run(async {
        let mut group = Group::start("replica-readers");
        let (leads, leader) = group.leader().await;
        leader.batch_execute("create table t (a int); insert into t values (1)").await.unwrap();
        let position = value(&leader, "show remanent.position").await.unwrap();
        let mut readers = Vec::new();
        for replica in (0..3).filter(|replica| *replica != leads) {
            let reader = connected(&group.config(&[replica])).await;
            let wait = format!("set remanent.read_after = '{position}'");
            reader.batch_execute(&wait).await.unwrap();
            let read = "begin isolation level repeatable read; select a from t";
            reader.batch_execute(read).await.unwrap();
            readers.push(reader);
        }
        leader.batch_execute("create table u (a int)").await.unwrap();
        for _ in 0..100 {
            leader.batch_execute("delete from t; insert into t values (2)").await.unwrap();
        }
        // A snapshot is what it was.
        for reader in &readers {
            assert_eq!(value(reader, "select a from t").await.unwrap(), "1");
        }
        group.end_one(leads, "-KILL");
        let (next, client) = group.leader().await;
        assert_ne!(next, leads);
        client.batch_execute("insert into u values (1)").await.unwrap();
        let mut ended = 0;
        for reader in &readers {
            ended += usize::from(value(reader, "select a from t").await.is_err());
        }
        assert!(ended > 0, "readers of rows that have to go are still there");
    });
}

#[test]
fn what_cannot_be_a_replica_is_said_at_once() {
    let refused = |arguments: &[&str], text: &str| {
        let mut all = vec!["serve"];
        all.extend(arguments);
        let output = remanent(&all);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(err(&output).contains(text), "{arguments:?}: {}", err(&output));
    };
    refused(&["x", "--peers", "2@127.0.0.1:1"], "--peers needs --replica");
    refused(&["x", "--durability", "os"], "--durability needs --replica");
    refused(&["x", "--replica-key", "k"], "--replica-key needs --replica");
    refused(&["x", "--replica", "1@127.0.0.1:1", "--peers", "1@127.0.0.1:2"], "both be number 1");
    refused(&["x", "--replica", "127.0.0.1:1"], "takes a number and an address");
    refused(&["x", "--replica", "0@127.0.0.1:1"], "takes a number and an address");
    refused(
        &["x", "--replica", "1@127.0.0.1:1", "--peers", "two"],
        "takes a number and an address",
    );
    refused(&["x", "--replica", "1@127.0.0.1:1", "--durability", "memory"], "--durability");
    refused(&["x", "--replica", "1@127.0.0.1:1", "--heartbeat", "0"], "--heartbeat");
    refused(&["x", "--replica", "1@127.0.0.1:1", "--replica-key", "k"], "come together");
    refused(&[":memory:", "--replica", "1@127.0.0.1:1"], "needs a folder");
}
