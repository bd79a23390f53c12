//! Whether a store answered rightly.
//!
//! While the clock runs, every answer is mixed with the key that was asked into one check
//! value, which costs the same few nanoseconds for everybody; afterwards the value is compared
//! with the one that the dataset gives. Outside the clock every row is then read once more and
//! compared byte by byte. A time counts only when both agree.

use lab_harness::Outcome;
use lab_harness::sensors::{MeasureBuffer, SensorKey, SensorStore};

use super::dataset::Dataset;

/// The sum over answers; the order in which they came does not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CheckValue {
    answers: u64,
    sum: u64,
}

impl CheckValue {
    /// Adds one answer.
    #[inline]
    pub(super) fn add(&mut self, asked: SensorKey, answer: &MeasureBuffer) {
        let key = SensorKey { sensor_id: answer.sensor_id, timestamp: answer.timestamp };
        self.mix(asked, key, answer.thing, answer.spectra());
    }

    /// What the right answers to these rows would have added.
    pub(super) fn expected(data: &Dataset, rows: impl IntoIterator<Item = usize>) -> Self {
        let mut value = Self::default();
        for row in rows {
            let measure = data.measure(row);
            value.mix(measure.key(), measure.key(), measure.thing, measure.spectra.as_bytes());
        }
        value
    }

    #[inline]
    fn mix(&mut self, asked: SensorKey, key: SensorKey, thing: i16, spectra: &[u8]) {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let len = spectra.len();
        let mut fields = (len as u64) << 48 | u64::from(thing as u16) << 32;
        if let (Some(&first), Some(&last)) = (spectra.first(), spectra.last()) {
            fields |= u64::from(first) << 16 | u64::from(spectra[len / 2]) << 8 | u64::from(last);
        }
        let keys = asked.packed().wrapping_mul(ODD).rotate_left(32) ^ key.packed();
        let mixed = (keys ^ fields.wrapping_mul(ODD)).wrapping_mul(ODD);
        self.answers += 1;
        self.sum = self.sum.wrapping_add(mixed ^ mixed >> 29);
    }
}

/// Reads the first `rows` rows once more and compares every byte: the first difference, if any.
pub(super) fn first_difference(
    store: &mut dyn SensorStore,
    data: &Dataset,
    rows: usize,
) -> Outcome<Option<String>> {
    let mut buffer = MeasureBuffer::new();
    for row in 0..rows {
        let measure = data.measure(row);
        let found = store.read(measure.key(), &mut buffer)?;
        let same = found
            && buffer.sensor_id == measure.sensor_id
            && buffer.timestamp == measure.timestamp
            && buffer.thing == measure.thing
            && buffer.spectra() == measure.spectra.as_bytes();
        if !same {
            let how = if found { "differs" } else { "is not found" };
            return Ok(Some(format!("row {row} {how}")));
        }
    }
    Ok(None)
}
