//! What is measured, in turn: commits of many threads and of one, a follower while it applies and
//! is read, and one that comes back.
//!
//! After each, the rows of all replicas are counted: a figure without them is none.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use lab_harness::Outcome;

use crate::choice::Choice;
use crate::groups::{Group, System};
use crate::record::{self, Figure};

/// Threads that commit at the same time.
const THREADS: u64 = 64;
const LEVELS: [&str; 4] = ["memory of a majority", "disks of a majority", "one disk", "one memory"];
/// Bytes that go to and fro to measure the bare transport.
const MESSAGE: usize = 128;
const ROUND_TRIPS: usize = 5000;
/// How long followers may be behind after the last commit.
const BEHIND: Duration = Duration::from_millis(100);

/// Measures all, and writes records.
///
/// # Errors
///
/// When a group does not do what it is asked, or replicas differ.
pub(crate) fn run(choice: &Choice) -> Outcome<()> {
    let mut figures = Vec::new();
    for round in 1..=choice.rounds {
        let mut measured = |figure: Figure| -> Outcome<()> {
            writeln!(std::io::stdout(), "{}", figure.line())?;
            figures.push(figure);
            Ok(())
        };
        let trip = round_trip()?;
        let numbers = vec![("round_trip_us", trip)];
        let (phase, level) = ("transport", "");
        measured(Figure { phase, contender: "tcp", level, round, numbers })?;
        for level in LEVELS {
            for system in System::ALL.into_iter().filter(|system| system.takes_part(level)) {
                measured(commits(system, level, round, trip, choice)?)?;
            }
        }
        following(round, choice)?.into_iter().try_for_each(&mut measured)?;
    }
    record::append(&choice.out, &figures)?;
    writeln!(std::io::stdout(), "records: {}", choice.out.join("replicas.jsonl").display())?;
    Ok(())
}

/// 64 threads insert rows, then one.
fn commits(
    system: System,
    level: &'static str,
    round: u32,
    trip: f64,
    choice: &Choice,
) -> Outcome<Figure> {
    let folder = tempfile::tempdir()?;
    let mut group = Group::start(system, folder.path(), level == LEVELS[1])?;
    let leader = group.leader()?;
    let loaded = choice.loaded;
    group.members[leader].ask(&format!("load 0 {loaded}"))?;
    group.agree(loaded)?;
    let millis = choice.time.as_millis();
    let word = level.replace(' ', "_");
    let before = group.cpu_ns()?;
    let many = group.members[leader].ask(&format!("commits {word} {THREADS} {millis} {loaded}"))?;
    // Followers are not far behind.
    std::thread::sleep(BEHIND);
    let cpu: u64 = group.cpu_ns()?.iter().zip(&before).map(|(after, before)| after - before).sum();
    group.agree(loaded + many[0])?;
    let one = group.members[leader].ask(&format!("commits {word} 1 {millis} {}", 1_u64 << 40))?;
    group.agree(loaded + many[0] + one[0])?;
    let latency = one[1] as f64 / one[0] as f64 / 1e3;
    let numbers = vec![
        ("commits_per_s", many[0] as f64 * 1e9 / many[1] as f64),
        ("commits_per_cpu_s", many[0] as f64 * 1e9 / cpu as f64),
        ("one_thread_us", latency),
        ("round_trips", latency / trip),
    ];
    Ok(Figure { phase: "commits", contender: system.name(), level, round, numbers })
}

/// A follower that applies, one that is read meanwhile, and one that comes back.
fn following(round: u32, choice: &Choice) -> Outcome<Vec<Figure>> {
    let figure = |phase, numbers| {
        let level = "one memory";
        Figure { phase, contender: System::Remanent.name(), level, round, numbers }
    };
    let folder = tempfile::tempdir()?;
    let mut group = Group::start(System::Remanent, folder.path(), false)?;
    let leader = group.leader()?;
    let follower = (leader + 1) % 3;
    let changes = choice.changes;
    let rate = |answer: &[u64]| answer[0] as f64 * 1e9 / answer[1] as f64;

    let (before, begun) = (group.cpu_ns()?, Instant::now());
    group.members[leader].ask(&format!("load 0 {changes}"))?;
    // Counting would take time of its own.
    while group.members[follower].ask("applied")?[0] < changes {
        std::thread::sleep(Duration::from_millis(10));
    }
    let (after, took) = (group.cpu_ns()?, begun.elapsed().as_secs_f64());
    group.agree(changes)?;
    let per_cpu_s = |place: usize| changes as f64 * 1e9 / (after[place] - before[place]) as f64;
    let applying = vec![
        ("changes_per_cpu_s", per_cpu_s(follower)),
        ("leader_changes_per_cpu_s", per_cpu_s(leader)),
        ("changes_per_s", changes as f64 / took),
    ];

    let lookups = format!("lookups {changes} {}", choice.lookups.as_millis());
    let alone = rate(&group.members[follower].ask(&lookups)?);
    group.members[leader].begin(&format!("load {changes} {}", 2 * changes))?;
    let beside = rate(&group.members[follower].ask(&lookups)?);
    group.members[leader].answer()?;
    group.agree(2 * changes)?;
    let reading = vec![
        ("lookups_per_cpu_s_alone", alone),
        ("lookups_per_cpu_s_beside", beside),
        ("beside_of_alone", beside / alone),
    ];

    let back = group.restart(follower, |group| {
        group.members[leader].ask(&format!("load {} {}", 2 * changes, 3 * changes))?;
        Ok(3 * changes)
    })?;
    let back = vec![
        ("seconds", back.as_secs_f64()),
        ("changes_per_s", changes as f64 / back.as_secs_f64()),
    ];
    Ok(vec![figure("apply", applying), figure("read", reading), figure("catch up", back)])
}

/// The median of round trips of a few bytes over TCP on loopback, in microseconds.
fn round_trip() -> Outcome<f64> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    std::thread::scope(|scope| {
        let echo = scope.spawn(move || -> std::io::Result<()> {
            let (mut socket, _) = listener.accept()?;
            socket.set_nodelay(true)?;
            let mut bytes = [0; MESSAGE];
            while socket.read_exact(&mut bytes).is_ok() {
                socket.write_all(&bytes)?;
            }
            Ok(())
        });
        let mut socket = TcpStream::connect(address)?;
        socket.set_nodelay(true)?;
        let (mut bytes, mut times) = ([1; MESSAGE], Vec::new());
        for _ in 0..ROUND_TRIPS {
            let begun = Instant::now();
            socket.write_all(&bytes)?;
            socket.read_exact(&mut bytes)?;
            times.push(begun.elapsed());
        }
        drop(socket);
        echo.join().map_err(|_| "the other side has failed")??;
        times.sort_unstable();
        Ok(times[times.len() / 2].as_nanos() as f64 / 1e3)
    })
}
