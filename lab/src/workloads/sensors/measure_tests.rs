//! A store that lies must not get a time: each lie below is a store of this kind gone wrong.

use std::collections::BTreeMap;

use lab_harness::sensors::{Measure, Offers};
use lab_harness::{Medium, Promise};

use super::*;
use crate::record::Record;
use crate::samples::Samples;
use crate::testing;

const ROWS: u64 = 700;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lie {
    None,
    /// Every row has the string of the first.
    SameString,
    /// The last rows were never stored.
    ForgottenRows,
    /// Found, but nothing copied.
    NothingCopied,
    /// One byte in the middle of one row differs, where the check value does not look.
    OneByte,
    /// The hash index finds the neighbour.
    HashNeighbour,
    /// A batch says it found everything and shows only the first.
    ShortBatch,
    /// A batch shows the first record in place of every other.
    SameInBatch,
    /// A batch shows everything and says it found one less.
    MiscountedBatch,
}

struct Fake {
    lie: Lie,
    rows: BTreeMap<u64, (String, i16)>,
}

const SETTING: Setting = testing::setting(Promise::None, Medium::Memory);

#[test]
fn an_honest_store_is_verified_in_every_phase() {
    let records = measured(Lie::None);
    let phases: Vec<_> = records.iter().map(|record| record.phase.as_str()).collect();
    assert_eq!(
        phases,
        ["write", "read", "read_random", "read_random_hash", "read_random_batch", "close"]
    );
    for record in &records {
        assert_eq!(record.verified, Some(true), "{record:?}");
        assert!(record.cpu_ns_per_op.is_some());
        assert!(record.data_bytes > Some(ROWS * 100));
    }
}

#[test]
fn every_lie_is_found_and_gets_no_time() {
    let lies = [Lie::SameString, Lie::ForgottenRows, Lie::NothingCopied, Lie::OneByte];
    for lie in lies {
        for record in measured(lie) {
            assert_eq!(record.verified, Some(false), "{lie:?}: {record:?}");
            assert_eq!(record.cpu_ns_per_op, None, "{lie:?}");
            assert_eq!(record.wall_ns_per_op, None, "{lie:?}");
        }
    }
}

#[test]
fn a_lie_in_an_optional_read_is_found_there_alone() {
    let lies = [
        (Lie::HashNeighbour, "read_random_hash"),
        (Lie::ShortBatch, "read_random_batch"),
        (Lie::SameInBatch, "read_random_batch"),
        (Lie::MiscountedBatch, "read_random_batch"),
    ];
    for (lie, phase) in lies {
        for record in measured(lie) {
            assert_eq!(record.verified, Some(record.phase != phase), "{lie:?}: {record:?}");
        }
    }
}

#[test]
fn only_the_asked_part_is_reported() {
    let request = |part: &str| CaseRequest {
        parameters: BTreeMap::from([(PART.to_owned(), Value::from(part))]),
        ..request()
    };
    let phases = |part| {
        let lines = measure(&request(part), open(Lie::None), &SETTING).unwrap();
        let names = lines.into_iter().filter_map(|line| match line {
            Line::Phase(sample) => Some(sample.phase),
            _ => None,
        });
        names.collect::<Vec<_>>()
    };
    assert_eq!(phases(PART_CLOSE), ["close"]);
    assert_eq!(phases(PART_CLOSE_64), ["close"]);
    assert_eq!(phases(PART_RANDOM_64), ["read_random", "read_random_hash", "read_random_batch"]);
}

#[test]
fn a_phase_out_of_time_reports_what_it_did() {
    let mut done = 0;
    let timed = timed(1_000_000_000, Some(1_000_000), 1, |_, _| {
        done += 1;
        Ok(())
    })
    .unwrap();
    assert_eq!(timed.operations, done);
    assert!(done < 1_000_000_000);
    let sample = timed.sample("write", 1, 1_000_000_000, true);
    assert!(sample.note.starts_with(&format!("{STOPPED} at about ")), "{}", sample.note);
}

fn measured(lie: Lie) -> Vec<Record> {
    let mut samples = Samples::default();
    samples.add(measure(&request(), open(lie), &SETTING).unwrap());
    samples.records(&Record::default())
}

fn request() -> CaseRequest {
    CaseRequest { ..testing::request("sensors", &SETTING, ROWS) }
}

fn open(
    lie: Lie,
) -> impl Fn(&Setting, &Location<'_>, RecordShape) -> Outcome<Box<dyn SensorStore>> {
    move |_, _, _| Ok(Box::new(Fake { lie, rows: BTreeMap::new() }))
}

impl SensorStore for Fake {
    fn insert(&mut self, measure: &Measure<'_>) -> Outcome<()> {
        if self.lie == Lie::ForgottenRows && self.rows.len() as u64 > ROWS - 3 {
            return Ok(());
        }
        let spectra = match (self.lie, self.rows.first_key_value()) {
            (Lie::SameString, Some((_, (first, _)))) => first.clone(),
            _ => measure.spectra.to_owned(),
        };
        self.rows.insert(measure.key().packed(), (spectra, measure.thing));
        Ok(())
    }

    fn read(&mut self, key: SensorKey, out: &mut MeasureBuffer) -> Outcome<bool> {
        let Some((spectra, thing)) = self.rows.get(&key.packed()) else { return Ok(false) };
        if self.lie == Lie::NothingCopied {
            return Ok(true);
        }
        let mut bytes = spectra.clone().into_bytes();
        if self.lie == Lie::OneByte && key.sensor_id == 1 && bytes.len() > 8 {
            bytes[1] ^= 1;
        }
        out.fill(key.sensor_id, key.timestamp, &bytes, *thing);
        Ok(true)
    }

    fn offers(&self) -> Offers {
        Offers { hash: true, batch: true }
    }

    fn read_hash(&mut self, key: SensorKey, out: &mut MeasureBuffer) -> Outcome<bool> {
        let off = u32::from(self.lie == Lie::HashNeighbour && key.timestamp.is_multiple_of(50));
        self.read(SensorKey { timestamp: key.timestamp + off, ..key }, out)
    }

    fn read_batch(
        &mut self,
        keys: &[SensorKey],
        out: &mut MeasureBuffer,
        visit: &mut dyn FnMut(usize, &MeasureBuffer),
    ) -> Outcome<usize> {
        let shown = if self.lie == Lie::ShortBatch { 1 } else { keys.len() };
        for (i, &key) in keys.iter().enumerate().take(shown) {
            self.read(if self.lie == Lie::SameInBatch { keys[0] } else { key }, out)?;
            visit(i, out);
        }
        Ok(keys.len() - usize::from(self.lie == Lie::MiscountedBatch))
    }

    fn close(self: Box<Self>) -> Outcome<()> {
        Ok(())
    }
}
