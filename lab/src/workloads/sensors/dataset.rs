//! The rows of the sensor workload, made before any clock runs, the same on every machine.
//!
//! As in the document: 100 sensors of 300 measures, the timestamp being sensor + measure, the
//! string taken from a pool of random strings. Larger sizes have 1,000 measures a sensor. Row
//! numbers run in key order. The pool, the draw and every shuffle come from fixed seeds.

use fastrand::Rng;
use lab_harness::sensors::{FIXED_SPECTRA_LEN, Measure, RecordShape, SPECTRA_LEN_MAX, SensorKey};

const SEED: u64 = 0x0052_454d_414e_454e;

/// How many different strings there are.
const POOL_LEN: usize = 1000;

/// Measures of one sensor at the size of the document, and at any other.
const MEASURES_SMALL: u64 = 300;
const MEASURES: u64 = 1000;

/// All rows of a run.
pub(super) struct Dataset {
    pool: Vec<String>,
    keys: Vec<SensorKey>,
    /// For each row, which string of the pool it has.
    drawn: Vec<u16>,
}

impl Dataset {
    /// Makes that many rows.
    pub(super) fn new(rows: u64, shape: RecordShape) -> Self {
        let mut rng = Rng::with_seed(SEED);
        let pool = (0..POOL_LEN).map(|_| random_string(&mut rng, shape)).collect();
        let measures = if rows <= super::plan::ROWS_SMALL { MEASURES_SMALL } else { MEASURES };
        let key = |row: u64| {
            let (sensor, measure) = ((row / measures) as u32, (row % measures) as u32);
            SensorKey { sensor_id: sensor, timestamp: sensor + measure }
        };
        Self {
            pool,
            keys: (0..rows).map(key).collect(),
            drawn: (0..rows).map(|_| rng.u16(..POOL_LEN as u16)).collect(),
        }
    }

    /// How many rows there are.
    pub(super) fn rows(&self) -> usize {
        self.keys.len()
    }

    /// A row, as the application hands it to a store.
    #[inline]
    pub(super) fn measure(&self, row: usize) -> Measure<'_> {
        let key = self.keys[row];
        Measure {
            sensor_id: key.sensor_id,
            timestamp: key.timestamp,
            spectra: &self.pool[usize::from(self.drawn[row])],
            thing: row as i16,
        }
    }

    /// The field bytes of the first `rows` rows.
    pub(super) fn data_bytes(&self, rows: usize) -> u64 {
        (0..rows).map(|row| self.measure(row).data_bytes()).sum()
    }

    /// The numbers of the first `rows` rows, shuffled; a different way for each `turn`.
    pub(super) fn shuffled(rows: usize, turn: u64) -> Vec<u32> {
        let mut order: Vec<u32> = (0..rows as u32).collect();
        Rng::with_seed(SEED ^ (turn + 1)).shuffle(&mut order);
        order
    }
}

fn random_string(rng: &mut Rng, shape: RecordShape) -> String {
    let len = match shape {
        RecordShape::Variable => rng.usize(..=SPECTRA_LEN_MAX),
        RecordShape::Fixed => FIXED_SPECTRA_LEN,
    };
    (0..len).map(|_| rng.alphanumeric()).collect()
}

#[cfg(test)]
#[path = "dataset_tests.rs"]
mod tests;
