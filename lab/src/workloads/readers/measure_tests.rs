//! A store that lies must not get a time: each lie below is a store of this kind gone wrong.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use lab_harness::readers::{Deleted, See};
use lab_harness::{Medium, Promise};

use super::*;
use crate::record::Record;
use crate::samples::Samples;
use crate::testing;

const ROWS: u64 = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lie {
    None,
    /// Readers get the beginning of an older payload.
    TornRead,
    /// Every second look-up says that nothing is there.
    Misses,
    /// Updates of one row are forgotten.
    ForgottenUpdate,
    /// Says that it deleted what it kept.
    KeptRow,
    /// Others see the first half of a transaction before the second.
    HalfATransaction,
}

struct Fake {
    lie: Lie,
    rows: Mutex<BTreeMap<i32, Row>>,
}

struct Thread<'s>(&'s Fake);

const SETTING: Setting = testing::setting(Promise::None, Medium::Memory);

#[test]
fn an_honest_store_is_verified_in_every_phase() {
    let records = measured(Lie::None, 2, 10).unwrap();
    let phases: Vec<_> = records.iter().map(|record| record.phase.as_str()).collect();
    assert_eq!(phases, ["insert", "update", "delete", "read"]);
    for record in &records {
        assert_eq!(record.verified, Some(true), "{record:?}");
        assert_eq!(record.per_transaction, Some(10));
        assert!(record.reads > Some(0), "{record:?}");
        assert!(record.reader_cpu_ns().unwrap() > 0.0);
        assert!(record.wall_ns().is_some() && record.cpu_ns().is_some());
    }
}

#[test]
fn without_readers_nothing_is_said_of_them() {
    for record in measured(Lie::None, 0, 1).unwrap() {
        assert_ne!(record.phase, "read");
        assert_eq!((record.reads, record.reader_cpu_ns()), (None, None));
        assert!(record.operations >= Some(ROWS));
    }
}

#[test]
fn what_readers_should_not_see_takes_the_time_away() {
    for lie in [Lie::TornRead, Lie::Misses, Lie::HalfATransaction] {
        let records = measured(lie, 2, 10).unwrap();
        let wrong = records.iter().filter(|record| record.verified == Some(false));
        let wrong: Vec<_> = wrong.collect();
        assert!(!wrong.is_empty(), "{lie:?} was not seen");
        for record in wrong {
            assert_eq!((record.wall_ns_per_op, record.cpu_ns_per_op), (None, None), "{lie:?}");
            assert_eq!(record.reader_cpu_ns_per_read, None);
            assert!(record.note.contains("a reader"), "{}", record.note);
        }
    }
}

#[test]
fn what_is_not_in_the_table_takes_the_time_away() {
    let records = measured(Lie::ForgottenUpdate, 0, 10).unwrap();
    let of = |phase| records.iter().find(|record| record.phase == phase).unwrap();
    assert_eq!(of("insert").verified, Some(true));
    assert_eq!(of("update").verified, Some(false));
    assert!(of("update").note.contains("row 5 differs"), "{}", of("update").note);
}

#[test]
fn a_row_that_stays_is_found_out() {
    let kept = measured(Lie::KeptRow, 0, 1);
    let kept = kept.err().map(|failure| failure.to_string());
    assert!(kept.unwrap().contains("row 5 was not new"));
}

#[test]
fn a_cell_out_of_time_reports_what_it_did_and_goes_on() {
    let request = CaseRequest { seconds_max: Some(1e-9), ..request(0, 1) };
    let lines = measure(&request, open(Lie::None), &SETTING).unwrap();
    for line in lines {
        let Line::Phase(sample) = line else { panic!("{line:?}") };
        assert_eq!((sample.operations, sample.verified), (1, true), "{sample:?}");
        assert_eq!(sample.note, STOPPED);
    }
}

fn measured(lie: Lie, readers: u64, per_transaction: u64) -> Outcome<Vec<Record>> {
    let mut samples = Samples::default();
    samples.add(measure(&request(readers, per_transaction), open(lie), &SETTING)?);
    Ok(samples.records(&Record::default()))
}

fn request(readers: u64, per_transaction: u64) -> CaseRequest {
    CaseRequest {
        readers,
        per_transaction,
        seconds_max: Some(0.2),
        ..testing::request("readers", &SETTING, ROWS)
    }
}

fn open(lie: Lie) -> impl Fn(&Setting, &Location<'_>) -> Outcome<Box<dyn SharedStore>> {
    move |_, _| Ok(Box::new(Fake { lie, rows: Mutex::default() }))
}

impl SharedStore for Fake {
    fn writer(&self) -> Outcome<Box<dyn RowWriter + '_>> {
        Ok(Box::new(Thread(self)))
    }

    fn reader(&self) -> Outcome<Box<dyn RowReader + '_>> {
        Ok(Box::new(Thread(self)))
    }
}

impl Thread<'_> {
    fn rows(&self) -> MutexGuard<'_, BTreeMap<i32, Row>> {
        self.0.rows.lock().unwrap()
    }

    fn lies(&self, lie: Lie) -> bool {
        self.0.lie == lie
    }
}

impl RowWriter for Thread<'_> {
    fn insert(&mut self, rows: &[Row]) -> Outcome<Ended> {
        let (first, second) = rows.split_at(rows.len() / 2);
        let mut map = self.rows();
        map.extend(first.iter().map(|row| (row.id, *row)));
        if self.lies(Lie::HalfATransaction) {
            drop(map);
            thread::sleep(Duration::from_micros(200));
            map = self.rows();
        }
        for row in second {
            if map.insert(row.id, *row).is_some() {
                return Err(format!("row {} was not new", row.id).into());
            }
        }
        Ok(Ended::Committed)
    }

    fn update(&mut self, changes: &[Row]) -> Outcome<Ended> {
        let forgets = self.lies(Lie::ForgottenUpdate);
        let mut map = self.rows();
        for change in changes.iter().filter(|change| !(forgets && change.id == 5)) {
            map.get_mut(&change.id).ok_or("not there")?.payload = change.payload;
        }
        Ok(Ended::Committed)
    }

    fn delete(&mut self, from: i32, count: usize) -> Outcome<Option<Deleted>> {
        let mut map = self.rows();
        let mut ids: Vec<i32> = map.range(from..).map(|(&id, _)| id).take(count).collect();
        let deleted = Deleted { rows: ids.len(), last: ids.last().copied().unwrap_or(from) };
        ids.retain(|&id| !(self.lies(Lie::KeptRow) && id == 5));
        map.retain(|id, _| !ids.contains(id));
        Ok(Some(deleted))
    }
}

impl RowReader for Thread<'_> {
    fn read(&mut self, ids: &[i32], see: &mut See<'_>) -> Outcome<Ended> {
        let map = self.rows();
        for &id in ids {
            let mut row =
                map.get(&id).copied().filter(|_| !(self.lies(Lie::Misses) && id % 2 == 0));
            if let Some(row) = &mut row
                && self.lies(Lie::TornRead)
            {
                row.payload[..64].fill(0);
            }
            see(row.as_ref().map(Row::view));
        }
        Ok(Ended::Committed)
    }

    fn scan(&mut self, see: &mut See<'_>) -> Outcome<Ended> {
        self.rows().values().for_each(|row| see(Some(row.view())));
        Ok(Ended::Committed)
    }
}
