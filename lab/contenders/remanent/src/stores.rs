//! The four stores: records of variable and of fixed length, an ordered or a hash index.
//!
//! One macro writes the adapter, so that all four do the same; they differ in their record type
//! and its key. A read copies every field out of the row it was given a reference to.

use lab_harness::Outcome;
use lab_harness::sensors::{BATCH_LEN, Measure, MeasureBuffer, Offers, SensorKey, SensorStore};
use remanent::schema::BinaryArray;
use remanent::{Database, Record, RecordStruct, TypedTable};

const FIXED_LEN: usize = lab_harness::sensors::FIXED_SPECTRA_LEN;

#[derive(RecordStruct, Clone, Copy)]
struct Thing {
    a: i16,
}

#[derive(Record)]
#[record(name = "Measure", unique_index(sensors(sensor_id, timestamp)))]
struct VariableMeasure<'a> {
    sensor_id: u32,
    timestamp: u32,
    spectra: &'a str,
    thing: Thing,
}

#[derive(Record)]
#[record(name = "Measure", unique_hash_index(sensors(sensor_id, timestamp)))]
struct VariableHashedMeasure<'a> {
    sensor_id: u32,
    timestamp: u32,
    spectra: &'a str,
    thing: Thing,
}

#[derive(Record)]
#[record(name = "Measure", unique_index(sensors(sensor_id, timestamp)))]
struct FixedMeasure {
    sensor_id: u32,
    timestamp: u32,
    spectra: BinaryArray<FIXED_LEN>,
    thing: Thing,
}

#[derive(Record)]
#[record(name = "Measure", unique_hash_index(sensors(sensor_id, timestamp)))]
struct FixedHashedMeasure {
    sensor_id: u32,
    timestamp: u32,
    spectra: BinaryArray<FIXED_LEN>,
    thing: Thing,
}

fn variable(spectra: &str) -> Outcome<&str> {
    Ok(spectra)
}

fn fixed(spectra: &str) -> Outcome<BinaryArray<FIXED_LEN>> {
    let bytes: [u8; FIXED_LEN] = spectra.as_bytes().try_into()?;
    Ok(BinaryArray(bytes))
}

fn text_bytes<'t>(text: &&'t str) -> &'t [u8] {
    text.as_bytes()
}

fn array_bytes(array: &BinaryArray<FIXED_LEN>) -> &[u8] {
    &array.0
}

macro_rules! store {
    ($store:ident, $record:ident, $table:ty, $key:ident, $spectra:ident, $bytes:expr) => {
        /// One of the four stores.
        pub(crate) struct $store {
            db: Database,
            table: TypedTable<$table>,
        }

        impl $store {
            pub(crate) fn over(db: Database) -> Outcome<Self> {
                let table = db.create_table_of()?;
                Ok(Self { db, table })
            }
        }

        impl SensorStore for $store {
            fn insert(&mut self, measure: &Measure<'_>) -> Outcome<()> {
                let record = $record {
                    sensor_id: measure.sensor_id,
                    timestamp: measure.timestamp,
                    spectra: $spectra(measure.spectra)?,
                    thing: Thing { a: measure.thing },
                };
                self.db.write(|tx| tx.insert(&self.table, &record))?;
                Ok(())
            }

            fn read(&mut self, key: SensorKey, out: &mut MeasureBuffer) -> Outcome<bool> {
                let key = $key { sensor_id: key.sensor_id, timestamp: key.timestamp };
                let found = self.db.read(|tx| {
                    let Some(row) = tx.get(&self.table, &key)? else { return Ok(false) };
                    let bytes: &[u8] = $bytes(&row.spectra);
                    out.fill(row.sensor_id, row.timestamp, bytes, row.thing.a);
                    Ok(true)
                })?;
                Ok(found)
            }

            fn offers(&self) -> Offers {
                let hash = stringify!($store).ends_with("Hashed");
                Offers { hash, batch: true }
            }

            fn read_hash(&mut self, key: SensorKey, out: &mut MeasureBuffer) -> Outcome<bool> {
                self.read(key, out)
            }

            fn read_batch(
                &mut self,
                keys: &[SensorKey],
                out: &mut MeasureBuffer,
                visit: &mut dyn FnMut(usize, &MeasureBuffer),
            ) -> Outcome<usize> {
                let len = keys.len();
                let keys: [$key; BATCH_LEN] = std::array::from_fn(|i| {
                    let key = keys[i.min(len - 1)];
                    $key { sensor_id: key.sensor_id, timestamp: key.timestamp }
                });
                let mut found = 0;
                self.db.read(|tx| {
                    tx.get_batch(&self.table, &keys[..len], |i, row| {
                        let Some(row) = row else { return };
                        let bytes: &[u8] = $bytes(&row.spectra);
                        out.fill(row.sensor_id, row.timestamp, bytes, row.thing.a);
                        visit(i, out);
                        found += 1;
                    })
                })?;
                Ok(found)
            }

            fn accounted_bytes(&self) -> Option<u64> {
                Some(self.db.memory().held)
            }

            fn close(self: Box<Self>) -> Outcome<()> {
                Ok(())
            }
        }
    };
}

store!(
    Variable,
    VariableMeasure,
    VariableMeasure<'static>,
    VariableMeasureSensors,
    variable,
    text_bytes
);
store!(
    VariableHashed,
    VariableHashedMeasure,
    VariableHashedMeasure<'static>,
    VariableHashedMeasureSensors,
    variable,
    text_bytes
);
store!(Fixed, FixedMeasure, FixedMeasure, FixedMeasureSensors, fixed, array_bytes);
store!(
    FixedHashed,
    FixedHashedMeasure,
    FixedHashedMeasure,
    FixedHashedMeasureSensors,
    fixed,
    array_bytes
);
