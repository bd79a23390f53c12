//! Several threads on one database: nothing is lost, and what they see belongs together.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use remanent_engine::Options;
use remanent_kv::{Cursor, Environment, KvDatabase, KvOptions, Sequence, SequenceOptions};

const THREADS: u64 = 4;

fn environment() -> Environment {
    Environment::open(Options::new().budget(64 << 20)).unwrap()
}

fn number(value: &[u8]) -> u64 {
    u64::from_le_bytes(value.try_into().unwrap())
}

/// Each of the accounts, with its number as key.
fn accounts(environment: &Environment, options: KvOptions) -> KvDatabase {
    let accounts = environment.create("accounts", options).unwrap();
    for account in 0..8_u8 {
        accounts.auto_commit().put(&[account], &100_u64.to_le_bytes()).unwrap();
    }
    accounts
}

/// Money is moved between accounts by transactions that are run again after conflicts; readers
/// with cursors see the same sum at every moment.
#[test]
fn transfers_keep_their_sum() {
    for options in [KvOptions::ordered(), KvOptions::hashed()] {
        let environment = environment();
        let accounts = accounts(&environment, options);
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let writers: Vec<_> = (0..THREADS)
                .map(|thread| {
                    scope.spawn({
                        let (environment, accounts) = (&environment, &accounts);
                        move || transfer(environment, accounts, thread)
                    })
                })
                .collect();
            let reader = scope.spawn(|| {
                let mut rounds = 0;
                while !done.load(Ordering::Relaxed) || rounds == 0 {
                    let tx = environment.begin_read().unwrap();
                    let mut cursor = accounts.cursor(&tx).unwrap();
                    let mut sum = 0;
                    while let Some((_, value)) = cursor.next().unwrap() {
                        sum += number(value);
                    }
                    let bulk: u64 = accounts.bulk(&tx).unwrap().map(|(_, v)| number(v)).sum();
                    assert_eq!((sum, bulk), (800, 800));
                    rounds += 1;
                }
            });
            writers.into_iter().for_each(|writer| writer.join().unwrap());
            done.store(true, Ordering::Relaxed);
            reader.join().unwrap();
        });
    }
}

fn transfer(environment: &Environment, accounts: &KvDatabase, thread: u64) {
    let mut state = thread + 1;
    for _ in 0..500 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let (from, to) = ([(state >> 33) as u8 % 8], [(state >> 41) as u8 % 8]);
        if from == to {
            continue;
        }
        environment
            .write(|tx| {
                let balance = |key: &[u8]| accounts.get(tx, key).map(|v| number(v.unwrap()));
                let (a, b) = (balance(&from)?, balance(&to)?);
                if a > 0 {
                    accounts.put(tx, &from, &(a - 1).to_le_bytes())?;
                    accounts.put(tx, &to, &(b + 1).to_le_bytes())?;
                }
                Ok(())
            })
            .unwrap();
    }
}

/// Threads put and delete the same keys without transactions; the secondary database has, at every
/// moment, what the primary one has.
#[test]
fn a_secondary_database_is_in_step_at_every_moment() {
    let environment = environment();
    let primary = environment.create("primary", KvOptions::hashed()).unwrap();
    let index = environment.create("index", KvOptions::ordered().with_duplicates()).unwrap();
    let secondary = primary.associate(&index, |_, value, keys| keys.push(value)).unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let writers: Vec<_> = (0..THREADS)
            .map(|thread| {
                let primary = &primary;
                scope.spawn(move || {
                    let mut calls = primary.auto_commit();
                    for round in 0..1000_u64 {
                        let mixed = (thread * 1000 + round).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                        let key = [(mixed >> 60) as u8];
                        if mixed >> 32 & 3 == 0 {
                            calls.delete(&key).unwrap();
                        } else {
                            calls.put(&key, &[(mixed >> 50) as u8 % 4]).unwrap();
                        }
                    }
                })
            })
            .collect();
        let reader = scope.spawn(|| {
            let mut rounds = 0;
            while !done.load(Ordering::Relaxed) || rounds == 0 {
                let tx = environment.begin_read().unwrap();
                let mut cursor = secondary.cursor(&tx).unwrap();
                let mut found = BTreeSet::new();
                while let Some(record) = cursor.step(Cursor::next).unwrap() {
                    assert_eq!(record.key, record.value);
                    assert!(found.insert((record.primary_key, record.value)));
                }
                assert_eq!(found, primary.bulk(&tx).unwrap().collect());
                rounds += 1;
            }
        });
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        done.store(true, Ordering::Relaxed);
        reader.join().unwrap();
    });
}

/// Handles with and without a cache give out each number once.
#[test]
fn a_sequence_gives_each_number_once() {
    let environment = environment();
    let database = environment.create("d", KvOptions::ordered()).unwrap();
    let take = |cache| {
        let options = SequenceOptions::new().cache(cache);
        let sequence = Sequence::open(&database, b"s", options).unwrap();
        (0..300).map(|_| sequence.next().unwrap()).collect::<Vec<_>>()
    };
    let all: Vec<i64> = thread::scope(|scope| {
        let threads: Vec<_> = [1, 7, 50, 1].map(|cache| scope.spawn(move || take(cache))).into();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let different: BTreeSet<_> = all.iter().collect();
    assert_eq!(different.len(), 1200);
}

/// One thread goes over a database with a cursor, in transactions of its own, while others change
/// it: it meets each record that is there all the time once, in order.
#[test]
fn a_cursor_meets_what_stays() {
    let environment = environment();
    let database = environment.create("d", KvOptions::ordered()).unwrap();
    for key in 0..500_u32 {
        database.auto_commit().put(&(key * 2).to_be_bytes(), b"stays").unwrap();
    }
    thread::scope(|scope| {
        for thread in 0..2_u32 {
            let database = &database;
            scope.spawn(move || {
                let mut calls = database.auto_commit();
                for round in 0..2000_u32 {
                    let key = (round.wrapping_mul(2_654_435_761) % 500 * 2 + 1).to_be_bytes();
                    if round % 3 == thread {
                        calls.delete(&key).unwrap();
                    } else {
                        calls.put(&key, b"goes").unwrap();
                    }
                }
            });
        }
        for _ in 0..50 {
            let tx = environment.begin_read().unwrap();
            let mut buffer = vec![0; 1000];
            let mut cursor = database.cursor(&tx).unwrap();
            let (mut keys, mut last) = (0, None);
            loop {
                let mut count = 0;
                for (key, value) in cursor.next_bulk(&mut buffer).unwrap() {
                    count += 1;
                    keys += u32::from(value == b"stays");
                    assert!(last.as_deref() < Some(key));
                    last = Some(key.to_vec());
                }
                if count == 0 {
                    break;
                }
            }
            assert_eq!(keys, 500);
        }
    });
}

/// A serializable transaction is refused if somebody commits a record among those that it has read
/// in bulk, and not if it lies beyond them.
#[test]
fn what_was_read_in_bulk_is_validated() {
    for (new_key, bulk, refused) in [(5_u8, true, true), (5, false, true), (250, false, false)] {
        for options in [KvOptions::ordered(), KvOptions::ordered().with_duplicates()] {
            let environment = environment();
            let database = environment.create("d", options).unwrap();
            (0..100).for_each(|key| database.auto_commit().put(&[key * 2], b"v").unwrap());
            let tx = environment.begin_write().unwrap();
            if bulk {
                assert_eq!(database.bulk(&tx).unwrap().count(), 100);
            } else {
                let mut buffer = [0; 100];
                let mut cursor = database.cursor(&tx).unwrap();
                assert_eq!(cursor.next_bulk(&mut buffer).unwrap().count(), 10);
            }
            database.auto_commit().put(&[new_key], b"new").unwrap();
            database.put(&tx, &[201], b"read").unwrap();
            let committed = tx.commit().map(|_| ()).map_err(|error| error.is_conflict());
            assert_eq!(committed, if refused { Err(true) } else { Ok(()) });
        }
    }
}
