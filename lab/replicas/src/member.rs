//! A process that is a member of a group: it does what a line asks, and answers with a line.
//!
//! Numbers alone travel. The first line that it says is `ready`; an answer that begins with `error`
//! has the reason.

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lab_harness::Outcome;
use lab_harness::clock::{process_cpu_ns, thread_cpu_ns};

/// What a member of any kind does.
pub(crate) trait Member: Sync {
    /// Whether it takes changes.
    fn leads(&self) -> bool;
    /// Makes the table.
    fn define(&self) -> Outcome<()>;
    /// Inserts a row and waits until the group has it, as the level says.
    fn insert(&self, key: u64, level: &str) -> Outcome<()>;
    /// Inserts rows in large transactions that nobody waits for.
    fn load(&self, keys: std::ops::Range<u64>) -> Outcome<()>;
    /// The rows that are there.
    fn count(&self) -> Outcome<u64>;
    /// Looks a key up; whether it is there.
    fn find(&self, key: u64) -> Outcome<bool>;
    /// How many row changes it has applied.
    fn changes_applied(&self) -> u64;
    /// CPU time by now, of all that belongs to it, in nanoseconds.
    fn cpu_ns(&self) -> u64 {
        process_cpu_ns()
    }
}

/// Answers until nobody asks any more.
///
/// # Errors
///
/// When nobody reads.
pub(crate) fn answer(member: &dyn Member) -> Outcome<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "ready")?;
    out.flush()?;
    for line in std::io::stdin().lines() {
        let line = line?;
        let words: Vec<&str> = line.split(' ').collect();
        match done(member, &words) {
            Ok(said) => writeln!(out, "{said}")?,
            Err(error) => writeln!(out, "error {error}")?,
        }
        out.flush()?;
    }
    Ok(())
}

fn done(member: &dyn Member, words: &[&str]) -> Outcome<String> {
    Ok(match *words {
        ["leads"] => u8::from(member.leads()).to_string(),
        ["define"] => member.define().map(|()| "0".to_owned())?,
        ["load", first, last] => {
            member.load(first.parse()?..last.parse()?).map(|()| "0".to_owned())?
        }
        ["count"] => member.count()?.to_string(),
        ["applied"] => member.changes_applied().to_string(),
        ["cpu"] => member.cpu_ns().to_string(),
        ["commits", level, threads, millis, first] => {
            let time = Duration::from_millis(millis.parse()?);
            commits(member, level, threads.parse()?, time, first.parse()?)?
        }
        ["lookups", keys, millis] => {
            lookups(member, keys.parse()?, Duration::from_millis(millis.parse()?))?
        }
        _ => return Err(format!("unknown: {words:?}").into()),
    })
}

/// Threads insert rows, each after the one before is acknowledged: how many, and in which time.
fn commits(
    member: &dyn Member,
    level: &str,
    threads: u64,
    time: Duration,
    first: u64,
) -> Outcome<String> {
    let (ends, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let begun = Instant::now();
    std::thread::scope(|scope| -> Outcome<()> {
        let inserting = |thread: u64| {
            let (ends, done) = (&ends, &done);
            move || -> Result<(), String> {
                let mut next = first + thread;
                while !ends.load(Ordering::Relaxed) {
                    member.insert(spread(next), level).map_err(|error| error.to_string())?;
                    done.fetch_add(1, Ordering::Relaxed);
                    next += threads;
                }
                Ok(())
            }
        };
        let threads: Vec<_> = (0..threads).map(|thread| scope.spawn(inserting(thread))).collect();
        std::thread::sleep(time);
        ends.store(true, Ordering::Relaxed);
        for thread in threads {
            thread.join().map_err(|_| "a thread has failed")??;
        }
        Ok(())
    })?;
    Ok(format!("{} {}", done.into_inner(), begun.elapsed().as_nanos()))
}

/// One thread looks keys up: how many, and in which CPU time of the thread.
fn lookups(member: &dyn Member, keys: u64, time: Duration) -> Outcome<String> {
    let (begun, cpu) = (Instant::now(), thread_cpu_ns());
    let mut count = 0_u64;
    while begun.elapsed() < time {
        for _ in 0..256 {
            count += 1;
            if !member.find(spread(count % keys))? {
                return Err(format!("key {} is not there", count % keys).into());
            }
        }
    }
    Ok(format!("{count} {}", thread_cpu_ns() - cpu))
}

/// Keys that come one after the other, spread over all that there are (Knuth, 1973): neighbours in
/// time are none in the tree.
pub(crate) fn spread(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
