//! Reading and writing a million records of 8 and 32 bytes, beside bare maps in the same run.
//!
//! `cargo run --release -p remanent-kv --example figures [records [rounds]]`. Each line is one
//! measurement: what, nanoseconds an operation, millions of operations a second, medians of five
//! rounds in which all are measured one after the other. Every answer is checked. Time is the
//! processor's, by one thread; the figures hold for the machine that they were measured on and for
//! no other.

use std::collections::{BTreeMap, HashMap};
use std::hint::black_box;
use std::time::Duration;

use remanent_engine::{Options, Result};
use remanent_kv::{Environment, KvDatabase, KvOptions};
use rustc_hash::FxBuildHasher;

const ROUNDS: usize = 5;

/// How often a measurement is taken that is over in a few milliseconds.
const OFTEN: u32 = 20;

type Key = [u8; 8];
type Value = [u8; 32];

/// What is measured, and how long it took in each round.
struct Figures {
    operations: u64,
    times: Vec<(&'static str, Vec<Duration>)>,
}

impl Figures {
    fn time<T>(&mut self, what: &'static str, work: impl FnOnce() -> T) -> T {
        let start = processor_time();
        let result = black_box(work());
        let took = processor_time() - start;
        self.note(what, took);
        result
    }

    /// As [`Figures::time`], often enough for the system's clock.
    fn time_often<T>(&mut self, what: &'static str, mut work: impl FnMut() -> T) -> T {
        let start = processor_time();
        let result = (1..OFTEN).fold(work(), |_, _| black_box(work()));
        let took = processor_time() - start;
        self.note(what, took / OFTEN);
        result
    }

    fn note(&mut self, what: &'static str, took: Duration) {
        match self.times.iter_mut().find(|(name, _)| *name == what) {
            Some((_, times)) => times.push(took),
            None => self.times.push((what, vec![took])),
        }
    }

    fn show(&mut self) -> String {
        let mut lines = String::new();
        for (what, times) in &mut self.times {
            times.sort();
            let seconds = times[times.len() / 2].as_secs_f64();
            let count = self.operations as f64;
            let (ns, millions) = (seconds * 1e9 / count, count / seconds / 1e6);
            lines += &format!("{what:<48} {ns:>8.1} ns {millions:>8.2} M/s\n");
        }
        lines
    }
}

/// What this thread has had of the processor, as the system has it.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let ns = text.split_whitespace().next().and_then(|ns| ns.parse().ok());
    Duration::from_nanos(ns.expect("a number"))
}

fn key_of(number: u64) -> Key {
    number.to_be_bytes()
}

fn value_of(number: u64) -> Value {
    [number as u8; 32]
}

/// Numbers below `count` in no order: a permutation if `count` is one less than a prime.
fn shuffled(count: u64) -> Vec<u64> {
    let mut numbers: Vec<u64> = (0..count).collect();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for i in (1..numbers.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        numbers.swap(i, (state % (i as u64 + 1)) as usize);
    }
    numbers
}

struct Maps {
    hash: HashMap<Key, Value, FxBuildHasher>,
    tree: BTreeMap<Box<[u8]>, Box<[u8]>>,
    flat: Vec<[u64; 5]>,
}

impl Maps {
    fn new(count: u64) -> Self {
        let records = || (0..count).map(|number| (key_of(number), value_of(number)));
        let boxed = |(key, value): (Key, Value)| -> (Box<[u8]>, Box<[u8]>) {
            (Box::new(key), Box::new(value))
        };
        Self {
            hash: records().collect(),
            tree: records().map(boxed).collect(),
            flat: (0..count).map(|number| [number; 5]).collect(),
        }
    }

    fn read(&self, figures: &mut Figures, order: &[u64]) {
        let sum: u64 = figures.time_often("flat array, all records", || {
            self.flat.iter().map(|record| record[0] + record[4]).sum()
        });
        assert_eq!(sum, 2 * order.iter().sum::<u64>());
        figures.time("hash map, at random", || {
            for number in order {
                assert_eq!(self.hash[&key_of(*number)][31], *number as u8);
            }
        });
        figures.time("hash map, at random, each key of the one before", || {
            dependent(order, |number| self.hash[&key_of(number)][31]);
        });
        figures.time("BTreeMap, at random", || {
            for number in order {
                assert_eq!(self.tree[&key_of(*number)[..]][31], *number as u8);
            }
        });
    }
}

/// Looks up so that no look-up can begin before the one before it has ended.
fn dependent(order: &[u64], get: impl Fn(u64) -> u8) {
    let mut zero = 0;
    for number in order {
        let found = get(*number + zero);
        assert_eq!(found, *number as u8);
        zero = u64::from(black_box(found) ^ *number as u8);
    }
}

fn write(
    figures: &mut Figures,
    (environment, database): (&Environment, &KvDatabase),
    label: &'static str,
) -> Result<()> {
    let count = figures.operations;
    figures.time(label, || {
        (0..count).try_for_each(|number| {
            environment.write(|tx| database.put(tx, &key_of(number), &value_of(number)))
        })
    })
}

fn read(
    figures: &mut Figures,
    (environment, database): (&Environment, &KvDatabase),
    order: &[u64],
    labels: [&'static str; 7],
) -> Result<()> {
    figures.time(labels[0], || {
        order.iter().try_for_each(|number| -> Result<()> {
            environment.read(|tx| {
                let value = database.get(tx, &key_of(*number))?;
                assert_eq!(value.map(|value| value[31]), Some(*number as u8));
                Ok(())
            })
        })
    })?;
    let mut calls = database.auto_commit();
    figures.time(labels[1], || {
        order.iter().try_for_each(|number| -> Result<()> {
            let value = calls.get(&key_of(*number))?;
            assert_eq!(value.map(|value| value[31]), Some(*number as u8));
            Ok(())
        })
    })?;
    figures.time(labels[2], || {
        let mut calls = database.auto_commit();
        let mut zero = 0;
        order.iter().try_for_each(|number| -> Result<()> {
            let value = calls.get(&key_of(*number + zero))?.map(|value| value[31]);
            assert_eq!(value, Some(*number as u8));
            zero = u64::from(black_box(value.unwrap_or(0)) ^ *number as u8);
            Ok(())
        })
    })?;
    let keys: Vec<Key> = order.iter().map(|number| key_of(*number)).collect();
    figures.time(labels[3], || {
        keys.chunks(64).zip(order.chunks(64)).try_for_each(|(keys, order)| {
            calls.get_batch(keys, |i, value| {
                assert_eq!(value.map(|value| value[31]), Some(order[i] as u8));
            })
        })
    })?;
    read_all(figures, (environment, database), order, [labels[4], labels[5], labels[6]])
}

/// Reads all records, in whatever order they come.
fn read_all(
    figures: &mut Figures,
    (environment, database): (&Environment, &KvDatabase),
    order: &[u64],
    labels: [&'static str; 3],
) -> Result<()> {
    let tx = environment.begin_read()?;
    let expected: u64 = order.iter().map(|number| u64::from(*number as u8) * 2).sum();
    let sum = figures.time_often(labels[0], || -> Result<u64> {
        let bulk = database.bulk(&tx)?;
        Ok(bulk.fold(0, |sum, (key, value)| sum + u64::from(key[7]) + u64::from(value[31])))
    })?;
    assert_eq!(sum, expected);
    let mut cursor = database.cursor(&tx)?;
    let mut sum = 0;
    figures.time(labels[1], || -> Result<()> {
        while let Some((key, value)) = cursor.next()? {
            sum += u64::from(key[7]) + u64::from(value[31]);
        }
        Ok(())
    })?;
    assert_eq!(sum, expected);
    let mut cursor = database.cursor(&tx)?;
    let mut buffer = vec![0; 256 << 10];
    let mut sum = 0;
    figures.time(labels[2], || -> Result<()> {
        loop {
            let before = sum;
            for (key, value) in cursor.next_bulk(&mut buffer)? {
                sum += u64::from(key[7]) + u64::from(value[31]) + 1;
            }
            if sum == before {
                return Ok(());
            }
        }
    })?;
    assert_eq!(sum, expected + order.len() as u64);
    Ok(())
}

fn measure(
    figures: &mut Figures,
    order: &[u64],
    options: KvOptions,
    labels: [&'static str; 9],
) -> Result<()> {
    let environment = Environment::open(Options::new().budget(1 << 30))?;
    let database = environment.create("records", options)?;
    let [first, again, reading @ ..] = labels;
    write(figures, (&environment, &database), first)?;
    read(figures, (&environment, &database), order, reading)?;
    write(figures, (&environment, &database), again)
}

fn main() -> Result<()> {
    let count = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(1_000_000);
    let rounds = std::env::args().nth(2).and_then(|count| count.parse().ok()).unwrap_or(ROUNDS);
    let order = shuffled(count);
    let maps = Maps::new(count);
    let mut figures = Figures { operations: count, times: Vec::new() };
    let ordered = [
        "ordered: put, one a transaction",
        "ordered: put again, one a transaction",
        "ordered: get, a transaction each",
        "ordered: get without transactions",
        "ordered: get, each key of the one before",
        "ordered: get, batches of 64",
        "ordered: bulk",
        "ordered: cursor",
        "ordered: bulk into a buffer of 256 KiB",
    ];
    let hashed = [
        "hashed: put, one a transaction",
        "hashed: put again, one a transaction",
        "hashed: get, a transaction each",
        "hashed: get without transactions",
        "hashed: get, each key of the one before",
        "hashed: get, batches of 64",
        "hashed: bulk",
        "hashed: cursor",
        "hashed: bulk into a buffer of 256 KiB",
    ];
    for _ in 0..rounds {
        maps.read(&mut figures, &order);
        measure(&mut figures, &order, KvOptions::ordered(), ordered)?;
        measure(&mut figures, &order, KvOptions::hashed(), hashed)?;
    }
    let lines = figures.show();
    std::io::Write::write_all(&mut std::io::stdout(), lines.as_bytes()).expect("a terminal");
    Ok(())
}
