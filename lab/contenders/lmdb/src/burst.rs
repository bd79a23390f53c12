//! One large transaction in LMDB: integer keys, values written in place, one cursor.
//!
//! The variant `append` says with each pair that its key is the last one (MDB_APPEND), which is how
//! its documentation has sorted data loaded, and takes ascending keys only. On a RAM disk it writes
//! into the map; on a disk it does not, so that a crash of the process leaves the file as it was.

use lab_harness::burst::{Burst, BurstSnapshot, BurstStore};
use lab_harness::pairs::{Key, Pair, Seen, VALUE_LEN};
use lab_harness::{Location, Medium, Outcome, Promise, Setting, Tier};
use lmdb_master_sys::{MDB_NOSYNC, MDB_WRITEMAP};

use crate::environment::{Environment, Move, Reading, Writing};

pub(crate) const SETTINGS: &[Setting] = &[
    setting("", Promise::Memory, Medium::Ramdisk, WRITEMAP),
    setting(APPEND, Promise::Memory, Medium::Ramdisk, WRITEMAP_APPEND),
    setting("", Promise::Os, Medium::Disk, UNSYNCED),
    setting("", Promise::Disk, Medium::Disk, SYNCED),
];

const APPEND: &str = "append";
const WRITEMAP: &str = "NOSYNC|WRITEMAP|NOTLS, INTEGERKEY, RESERVE, one cursor; no database \
    without files, hence on a RAM disk";
const WRITEMAP_APPEND: &str = "as the plain one, each pair put with MDB_APPEND";
const UNSYNCED: &str = "NOSYNC|NOTLS, INTEGERKEY, RESERVE, one cursor";
const SYNCED: &str = "default flags and NOTLS, INTEGERKEY, RESERVE, one cursor";

const fn setting(
    variant: &'static str,
    promise: Promise,
    medium: Medium,
    note: &'static str,
) -> Setting {
    Setting { variant, promise, medium, tier: Tier::Always, note }
}

struct Store {
    environment: Environment,
    append: bool,
}

struct Inserts<'e> {
    writing: Writing<'e>,
    append: bool,
}

struct Open<'e>(Reading<'e>);

/// Opens an empty database.
pub(crate) fn open(
    setting: &Setting,
    location: &Location<'_>,
    _snapshots: u64,
) -> Outcome<Box<dyn BurstStore>> {
    let flags = match setting.promise {
        Promise::Disk => 0,
        Promise::Memory => MDB_NOSYNC | MDB_WRITEMAP,
        _ => MDB_NOSYNC,
    };
    let map_bytes = location.data_bytes as usize * 4 + (1 << 30);
    let environment = Environment::open(location.files()?, flags, map_bytes)?;
    Ok(Box::new(Store { environment, append: setting.variant == APPEND }))
}

fn walk(reading: &mut Reading<'_>, mut see: impl FnMut(u64, &[u8])) -> Outcome<()> {
    let mut found = reading.walk(Move::First, &mut see)?;
    while found.is_some() {
        found = reading.walk(Move::Next, &mut see)?;
    }
    Ok(())
}

impl BurstStore for Store {
    fn begin(&self) -> Outcome<Box<dyn Burst + '_>> {
        Ok(Box::new(Inserts { writing: self.environment.writing()?, append: self.append }))
    }

    fn snapshot(&self) -> Outcome<Box<dyn BurstSnapshot + '_>> {
        Ok(Box::new(Open(self.environment.standing()?)))
    }

    fn read_in_order(&self, seen: &mut Seen) -> Outcome<()> {
        let mut reading = self.environment.standing()?;
        walk(&mut reading, |key, value| seen.see_bytes(&key.to_be_bytes(), value))
    }

    fn close(self: Box<Self>) -> Outcome<()> {
        Ok(())
    }
}

impl Burst for Inserts<'_> {
    fn insert(&mut self, pairs: &[Pair]) -> Outcome<()> {
        for (key, value) in pairs {
            let key = u64::from_be_bytes(*key);
            let fill = |place: &mut [u8]| place.copy_from_slice(value);
            match self.append {
                true => self.writing.append(key, VALUE_LEN, fill)?,
                false => self.writing.insert(key, VALUE_LEN, fill)?,
            }
        }
        Ok(())
    }

    fn commit(self: Box<Self>) -> Outcome<()> {
        self.writing.commit()
    }

    fn roll_back(self: Box<Self>) -> Outcome<()> {
        Ok(())
    }
}

impl BurstSnapshot for Open<'_> {
    fn sees(&mut self, key: &Key) -> Outcome<bool> {
        Ok(self.0.get(u64::from_be_bytes(*key), |_| ())?.is_some())
    }

    fn count(&mut self) -> Outcome<u64> {
        let mut count = 0;
        walk(&mut self.0, |_, _| count += 1)?;
        Ok(count)
    }
}
