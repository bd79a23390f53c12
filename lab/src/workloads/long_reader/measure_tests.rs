//! A snapshot that moves, and an update that is lost, must take the time away.

use std::collections::BTreeMap;
use std::sync::Mutex;

use lab_harness::readers::{Deleted, MemoryHeld, Row, See, Snapshot};
use lab_harness::{Medium, Promise};

use super::*;
use crate::testing;

const ROWS: u64 = 20;
const UPDATES: u64 = 2_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lie {
    None,
    /// The snapshot sees what was committed later.
    MovingSnapshot,
    /// Every update of one row is lost.
    LostUpdate,
}

struct Fake {
    lie: Lie,
    rows: Mutex<BTreeMap<i32, Row>>,
}

struct Thread<'s>(&'s Fake);

struct Open<'s>(&'s Fake, BTreeMap<i32, Row>);

const SETTING: Setting = testing::setting(Promise::Memory, Medium::Memory);

#[test]
fn an_honest_store_has_a_course_from_the_first_to_the_last_update() {
    let sample = measured(Lie::None, None);
    assert!(sample.verified, "{}", sample.note);
    assert_eq!((sample.operations, sample.note.as_str()), (UPDATES, ""));
    assert!(sample.reads > Some(0));
    let operations: Vec<_> = sample.time_series.iter().map(|point| point.operations).collect();
    assert_eq!((operations[0], operations.len() as u64), (0, POINTS + 1));
    assert_eq!(operations.last(), Some(&UPDATES));
    assert!(sample.time_series.iter().all(|point| point.held_bytes == 4096));
}

#[test]
fn lies_are_found_out() {
    let moved = measured(Lie::MovingSnapshot, None);
    assert!(!moved.verified && moved.note.contains("the open reader saw"), "{}", moved.note);
    let lost = measured(Lie::LostUpdate, None);
    assert!(!lost.verified && lost.note.contains("row 7 differs"), "{}", lost.note);
}

#[test]
fn updates_out_of_time_say_how_many_were_asked_for() {
    let sample = measured(Lie::None, Some(1e-9));
    assert_eq!(sample.operations, UPDATES_PER_LOOK);
    assert_eq!(sample.time_series.last().unwrap().operations, UPDATES_PER_LOOK);
    assert!(sample.verified && sample.note.contains("2000 updates were asked for"));
}

fn measured(lie: Lie, seconds_max: Option<f64>) -> PhaseSample {
    let request = CaseRequest {
        readers: 1,
        parameters: BTreeMap::from([(UPDATES_WORD.to_owned(), Value::from(UPDATES))]),
        seconds_max,
        ..testing::request("long-reader", &SETTING, ROWS)
    };
    let lines = measure(&request, open(lie), &SETTING).unwrap();
    let [Line::Phase(sample)] = &lines[..] else { panic!("{lines:?}") };
    sample.clone()
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

    fn snapshot(&self) -> Outcome<Box<dyn Snapshot + '_>> {
        Ok(Box::new(Open(self, self.rows.lock().unwrap().clone())))
    }

    fn memory(&self) -> Option<MemoryHeld> {
        Some(MemoryHeld { held_bytes: 4096, rows_bytes: 2048 })
    }
}

impl RowWriter for Thread<'_> {
    fn insert(&mut self, rows: &[Row]) -> Outcome<Ended> {
        self.0.rows.lock().unwrap().extend(rows.iter().map(|row| (row.id, *row)));
        Ok(Ended::Committed)
    }

    fn update(&mut self, changes: &[Row]) -> Outcome<Ended> {
        // Slow enough for the reader to look meanwhile.
        thread::sleep(Duration::from_micros(2));
        let lost = |row: &&Row| self.0.lie == Lie::LostUpdate && row.id == 7;
        let kept = changes.iter().filter(|row| !lost(row));
        self.0.rows.lock().unwrap().extend(kept.map(|row| (row.id, *row)));
        Ok(Ended::Committed)
    }

    fn delete(&mut self, _: i32, _: usize) -> Outcome<Option<Deleted>> {
        Err("nothing is deleted".into())
    }
}

impl RowReader for Thread<'_> {
    fn read(&mut self, _: &[i32], _: &mut See<'_>) -> Outcome<Ended> {
        Err("nothing is looked up".into())
    }

    fn scan(&mut self, see: &mut See<'_>) -> Outcome<Ended> {
        self.0.rows.lock().unwrap().values().for_each(|row| see(Some(row.view())));
        Ok(Ended::Committed)
    }
}

impl Snapshot for Open<'_> {
    fn look(&mut self, id: i32, see: &mut See<'_>) -> Outcome<()> {
        if self.0.lie == Lie::MovingSnapshot {
            self.1.clone_from(&self.0.rows.lock().unwrap());
        }
        see(self.1.get(&id).map(Row::view));
        Ok(())
    }
}
