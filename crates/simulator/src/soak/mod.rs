//! A database kept at the end of its budget, for as long as asked: does it stay well?
//!
//! Threads insert, replace, update and delete rows whose sizes shift from one age of the run to the
//! next, which is what breaks memory into pieces; `work` has what each does and its model. The
//! fragmentation, bytes held for each live byte, is measured again and again: it has to stay below
//! a bound, no statement may be refused for good, and at the end, emptied, the database holds about
//! what it held before. The same seed does the same, but for what threads do to each other.

mod work;

use std::error::Error;
use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lexopt::{Arg, Parser};
use remanent_engine::{Database, MemoryUse, Options, Table};

use work::Worker;

/// Bytes held for each live byte: at most, and in the mean.
const FRAGMENTATION_MAX: f64 = 2.25;
const FRAGMENTATION_MEAN_MAX: f64 = 1.25;

/// How often the memory is measured over a run, and how often that is printed.
const LOOKS: u64 = 400;
const LINES: u64 = 20;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Soak {
    operations: u64,
    budget: u64,
    threads: u64,
    seed: u64,
}

/// The state that all threads share.
struct Shared {
    db: Database,
    table: Table,
    operations: AtomicU64,
    refused: AtomicU64,
    stop: AtomicBool,
    /// Whether somebody has come to deleting all of its rows.
    emptying: AtomicBool,
}

/// The worst that was seen.
#[derive(Default)]
struct Seen {
    fragmentation: f64,
    /// Their sum, and how many there are.
    sum: f64,
    looks: f64,
    filled: f64,
}

impl Seen {
    fn mean(&self) -> f64 {
        self.sum / self.looks.max(1.0)
    }
}

impl Soak {
    /// The command, if these words are one.
    ///
    /// # Errors
    /// When a flag is unknown or its value is no number.
    pub(crate) fn parse(words: &[OsString]) -> Result<Option<Self>, Box<dyn Error>> {
        let Some((name, flags)) = words.split_first() else { return Ok(None) };
        if name != "soak" {
            return Ok(None);
        }
        let mut soak = Self { operations: 4_000_000, budget: 256, threads: 2, seed: 1 };
        let mut parser = Parser::from_args(flags.iter().cloned());
        while let Some(argument) = parser.next()? {
            let name = match argument {
                Arg::Long(name) => name.to_owned(),
                other => return Err(other.unexpected().into()),
            };
            let value: u64 = parser.value()?.to_string_lossy().parse()?;
            match name.as_str() {
                "operations" => soak.operations = value,
                "budget" => soak.budget = value,
                "threads" => soak.threads = value.clamp(1, 64),
                "seed" => soak.seed = value,
                _ => return Err(format!("unknown flag --{name}; see --help").into()),
            }
        }
        Ok(Some(soak))
    }

    /// Does it. False if something was wrong, which standard error has.
    pub(crate) fn run(&self) -> bool {
        match self.soak() {
            Ok(()) => true,
            Err(error) => {
                eprintln!("soak, seed {}: {error}", self.seed);
                false
            }
        }
    }

    fn soak(&self) -> Result<(), Box<dyn Error>> {
        let db = Database::open(Options::new().budget(self.budget << 20))?;
        let table = db.create_table(work::schema())?;
        let empty = db.memory().held;
        let shared = Shared {
            db,
            table,
            operations: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            emptying: AtomicBool::new(false),
        };
        println!("operations   rows    live MiB  held MiB  held/live  of budget  refused");
        let started = Instant::now();
        let seen = std::thread::scope(|scope| -> Result<Seen, Box<dyn Error>> {
            let each = self.operations / self.threads;
            let threads: Vec<_> = (0..self.threads)
                .map(|number| {
                    let mut worker = Worker::new(&shared, self.seed, (number, self.threads));
                    scope.spawn(move || worker.work(each))
                })
                .collect();
            let seen = self.watch(&shared, || threads.iter().all(|thread| thread.is_finished()));
            for thread in threads {
                thread.join().map_err(|_| "a thread panicked")??;
            }
            Ok(seen)
        })?;
        let seconds = started.elapsed().as_secs_f64();
        shared.db.reclaim();
        let left = shared.db.memory();
        println!(
            "{} operations in {seconds:.0} s; held/live {:.3} in the mean, at most {:.3}; at most \
             {:.1} % of the budget; emptied: {} KiB held, {} KiB when new",
            shared.operations.load(Ordering::Relaxed),
            seen.mean(),
            seen.fragmentation,
            seen.filled * 100.0,
            left.held >> 10,
            empty >> 10,
        );
        judge(&seen, &left)
    }

    /// Looks at the memory until all threads have ended.
    fn watch(&self, shared: &Shared, ended: impl Fn() -> bool) -> Seen {
        let (mut seen, mut looks) = (Seen::default(), 0);
        while !ended() {
            std::thread::sleep(Duration::from_millis(5));
            let operations = shared.operations.load(Ordering::Relaxed);
            if operations < looks * self.operations / LOOKS {
                continue;
            }
            let memory = shared.db.memory();
            let (live, held) = (live_bytes(&memory) as f64, memory.held as f64);
            let filled = held / memory.budget as f64;
            seen.filled = seen.filled.max(filled);
            // While it is filled first, little is live, and while it is emptied at the end.
            if filled > 0.5 && !shared.emptying.load(Ordering::Relaxed) {
                seen.fragmentation = seen.fragmentation.max(held / live);
                (seen.sum, seen.looks) = (seen.sum + held / live, seen.looks + 1.0);
            }
            if looks.is_multiple_of(LOOKS / LINES) {
                let rows = shared.db.read(|tx| Ok(tx.scan(&shared.table)?.count())).unwrap_or(0);
                println!(
                    "{operations:>10} {rows:>7} {:>9.1} {:>9.1} {:>10.3} {:>8.1} % {:>8}",
                    live / f64::from(1 << 20),
                    held / f64::from(1 << 20),
                    held / live,
                    filled * 100.0,
                    shared.refused.load(Ordering::Relaxed),
                );
            }
            looks = operations * LOOKS / self.operations + 1;
        }
        seen
    }
}

/// Bytes that something refers to.
fn live_bytes(memory: &MemoryUse) -> u64 {
    memory.rows + memory.segments + memory.indexes + memory.internal + memory.columns
}

fn judge(seen: &Seen, left: &MemoryUse) -> Result<(), Box<dyn Error>> {
    if seen.fragmentation > FRAGMENTATION_MAX {
        return Err(format!("held/live came to {:.3}", seen.fragmentation).into());
    }
    if seen.mean() > FRAGMENTATION_MEAN_MAX {
        return Err(format!("held/live was {:.3} in the mean", seen.mean()).into());
    }
    if seen.filled < 0.96 {
        return Err(format!("only {:.3} of the budget was ever used", seen.filled).into());
    }
    if left.rows != 0 {
        return Err(format!("{} bytes of rows are left when all are deleted", left.rows).into());
    }
    if left.held > live_bytes(left) + (2 << 20) {
        return Err(format!("emptied, it still holds {} bytes", left.held).into());
    }
    Ok(())
}

#[cfg(test)]
mod tests;
