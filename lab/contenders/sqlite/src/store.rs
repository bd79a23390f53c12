//! The sensor workload's table in SQLite, with a key of two columns or of one packed integer.
//!
//! Both tables hold all four fields; the packed one holds the key's two inside its integer
//! primary key, and a read unpacks them. Opening sets every pragma before the table is made.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;

use lab_harness::sensors::{Measure, MeasureBuffer, SensorKey, SensorStore};
use lab_harness::{Location, Medium, Outcome, Promise, Setting};

use crate::connection::Connection;

const TWO_COLUMNS: &str = "CREATE TABLE measure (
    sensor_id INTEGER NOT NULL, timestamp INTEGER NOT NULL,
    spectra TEXT NOT NULL, thing INTEGER NOT NULL, PRIMARY KEY (sensor_id, timestamp))";
const TWO_COLUMNS_INSERT: &str = "INSERT INTO measure VALUES (?1, ?2, ?3, ?4)";
const TWO_COLUMNS_SELECT: &str = "SELECT sensor_id, timestamp, spectra, thing FROM measure
    WHERE sensor_id = ?1 AND timestamp = ?2";

const PACKED: &str = "CREATE TABLE measure (
    key INTEGER PRIMARY KEY, spectra TEXT NOT NULL, thing INTEGER NOT NULL)";
const PACKED_INSERT: &str = "INSERT INTO measure VALUES (?1, ?2, ?3)";
const PACKED_SELECT: &str = "SELECT key, spectra, thing FROM measure WHERE key = ?1";

struct TwoColumns(Connection);

struct Packed(Connection);

/// Opens a database for a setting and makes the table.
pub(crate) fn open(setting: &Setting, location: &Location<'_>) -> Outcome<Box<dyn SensorStore>> {
    let mut connection = match setting.medium {
        Medium::Memory => Connection::open(c":memory:")?,
        _ => {
            let path = location.files()?.join("measures.sqlite");
            let connection = Connection::open(&CString::new(path.as_os_str().as_bytes())?)?;
            connection.execute(&file_pragmas(setting, location.data_bytes))?;
            connection
        }
    };
    if setting.variant == "packed" {
        connection.execute(PACKED)?;
        connection.prepare(PACKED_INSERT, PACKED_SELECT)?;
        return Ok(Box::new(Packed(connection)));
    }
    connection.execute(TWO_COLUMNS)?;
    connection.prepare(TWO_COLUMNS_INSERT, TWO_COLUMNS_SELECT)?;
    Ok(Box::new(TwoColumns(connection)))
}

fn file_pragmas(setting: &Setting, data_bytes: u64) -> String {
    let synchronous = match (setting.promise, setting.variant) {
        (Promise::Disk, _) => "FULL",
        (_, "normal") => "NORMAL",
        _ => "OFF",
    };
    let cache_kib = data_bytes * 2 / 1024 + 65_536;
    let map_bytes = data_bytes * 3 + (64 << 20);
    format!(
        "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL;
         PRAGMA synchronous={synchronous}; PRAGMA temp_store=MEMORY;
         PRAGMA cache_size=-{cache_kib}; PRAGMA mmap_size={map_bytes};"
    )
}

impl SensorStore for TwoColumns {
    fn insert(&mut self, measure: &Measure<'_>) -> Outcome<()> {
        let key = [i64::from(measure.sensor_id), i64::from(measure.timestamp)];
        self.0.insert(&key, measure.spectra, i64::from(measure.thing))
    }

    fn read(&mut self, key: SensorKey, out: &mut MeasureBuffer) -> Outcome<bool> {
        let key = [i64::from(key.sensor_id), i64::from(key.timestamp)];
        let found = self.0.select(&key, |row| {
            let (sensor_id, timestamp) = (row.integer(0) as u32, row.integer(1) as u32);
            out.fill(sensor_id, timestamp, row.bytes(2), row.integer(3) as i16);
        })?;
        Ok(found.is_some())
    }

    fn close(self: Box<Self>) -> Outcome<()> {
        Ok(())
    }
}

impl SensorStore for Packed {
    fn insert(&mut self, measure: &Measure<'_>) -> Outcome<()> {
        let key = [measure.key().packed() as i64];
        self.0.insert(&key, measure.spectra, i64::from(measure.thing))
    }

    fn read(&mut self, key: SensorKey, out: &mut MeasureBuffer) -> Outcome<bool> {
        let found = self.0.select(&[key.packed() as i64], |row| {
            let packed = row.integer(0) as u64;
            let (sensor_id, timestamp) = ((packed >> 32) as u32, packed as u32);
            out.fill(sensor_id, timestamp, row.bytes(1), row.integer(2) as i16);
        })?;
        Ok(found.is_some())
    }

    fn close(self: Box<Self>) -> Outcome<()> {
        Ok(())
    }
}
