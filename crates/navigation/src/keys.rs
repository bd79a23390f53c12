//! Keys: records by the value of a key, and from there on in key order.
//!
//! Each key has a place of its own, which stays through other calls and through transactions. A
//! look-up that finds nothing leaves it where the value would be, so that the next record is the
//! one with the next higher key. Behind the last one the place is nowhere, and going on begins at
//! the front again.

use remanent_engine::{Cursor, Find, Row};

use crate::opened::Opened;
use crate::position::{Address, KeyAt, KeyPlace};
use crate::status::{Outcome, Status};
use crate::structs;
use crate::task::{OpenDatabase, Task, reading};

/// A step of a key's position.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    First,
    Last,
    Next,
    Previous,
}

impl Task {
    /// Makes the record with a key the current one, the first of several. `value` is the field, or
    /// the struct of a compound key's parts, of which no more is read; without one, the key's
    /// place is before the first record.
    ///
    /// # Errors
    /// `NOT_FOUND`; `NOT_KEY`, `INVALID_FIELD`, `BAD_DATA` if the value is too short.
    ///
    /// # Examples
    /// See [`Task`].
    #[inline]
    pub fn key_find(&mut self, field: i64, value: Option<&[u8]>, database: i32) -> Outcome {
        let number = self.number(database)?;
        let open = &mut self.databases[number];
        let (record, place, key) = open.shared.dictionary.key(field)?;
        let keys = &mut open.keys[record][place];
        let Some(value) = value else {
            *keys = None;
            return Err(Status::NOT_FOUND.into());
        };
        if value.len() < key.size && !open.shared.dictionary.records[record].is_text(place) {
            return Err(Status::BAD_DATA.because("the key is longer"));
        }
        let ordinal = key.ordinal;
        let new = || KeyPlace { draft: open.shared.tables[record].draft(), at: KeyAt::Nowhere };
        let sought = keys.get_or_insert_with(new);
        let columns = &open.shared.columns[record];
        if let Err(fault) = structs::write_struct(&mut sought.draft, columns, &key.leaves, value) {
            // A value that the key refuses loses the place: where it was is overwritten.
            *keys = None;
            return Err(fault);
        }
        let found = reading(&open.shared, &open.held, |shared, tx| {
            let table = &shared.tables[record];
            let row = tx.find_by_draft(table.index_at(ordinal)?, &sought.draft)?;
            Ok(row.map(|row| row.id()))
        })?;
        sought.at = found.map_or(KeyAt::Between, KeyAt::Record);
        open.last_key = Some((record, place));
        self.last_database = number;
        let open = &mut self.databases[number];
        match found {
            Some(row) => {
                open.record = Some(Address::new(record, row));
                Ok(())
            }
            None => Err(Status::NOT_FOUND.into()),
        }
    }

    /// Bytes of a key's value.
    ///
    /// # Errors
    /// `NOT_KEY`, `INVALID_FIELD`.
    ///
    /// # Examples
    /// ```
    /// # use remanent_navigation::{CURR_DB, Declared, Status, Task, register};
    /// # let folder = tempfile::tempdir()?;
    /// # let text = "database ks { record R { key long id; short n; } }";
    /// # register(Declared { name: "ks".into(), text: text.into(), records: Vec::new() });
    /// # let mut task = Task::new();
    /// # task.open(&format!("{}/ks", folder.path().display()), "o")?;
    /// assert_eq!(task.key_size(0, CURR_DB)?, 8);
    /// assert_eq!(task.key_size(1, CURR_DB).unwrap_err().status, Status::NOT_KEY);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn key_size(&mut self, field: i64, database: i32) -> Outcome<usize> {
        Ok(self.database(database)?.shared.dictionary.key(field)?.2.size)
    }

    /// Makes the record with the first key the current one.
    ///
    /// # Errors
    /// `NOT_FOUND`; `NOT_KEY` also for a hash key, which has no order.
    ///
    /// # Examples
    /// ```
    /// # use remanent_navigation::{CURR_DB, Declared, Status, Task, register};
    /// # let folder = tempfile::tempdir()?;
    /// # let text = "database kf { record R { key long id; } }";
    /// # register(Declared { name: "kf".into(), text: text.into(), records: Vec::new() });
    /// # let mut task = Task::new();
    /// # task.open(&format!("{}/kf", folder.path().display()), "o")?;
    /// for id in [3_i64, 1, 2] {
    ///     task.fill_new(10000, &id.to_le_bytes(), CURR_DB)?;
    /// }
    /// let mut seen = Vec::new();
    /// let mut step = task.key_first(0, CURR_DB);
    /// while step.is_ok() {
    ///     let mut id = [0; 8];
    ///     task.key_read(&mut id)?;
    ///     seen.push(i64::from_le_bytes(id));
    ///     step = task.key_next(0, CURR_DB);
    /// }
    /// assert_eq!(seen, [1, 2, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn key_first(&mut self, field: i64, database: i32) -> Outcome {
        self.key_step(field, database, Step::First)
    }

    /// Makes the record with the last key the current one.
    ///
    /// # Errors
    /// As [`Task::key_first`].
    ///
    /// # Examples
    /// See there.
    pub fn key_last(&mut self, field: i64, database: i32) -> Outcome {
        self.key_step(field, database, Step::Last)
    }

    /// Makes the record with the next key the current one; after a look-up that found nothing, the
    /// one with the next higher key; from nowhere, the first.
    ///
    /// # Errors
    /// `NOT_FOUND` behind the last one; then the place is nowhere.
    ///
    /// # Examples
    /// See [`Task::key_first`].
    #[inline]
    pub fn key_next(&mut self, field: i64, database: i32) -> Outcome {
        self.key_step(field, database, Step::Next)
    }

    /// Makes the record with the key before the current one; from nowhere, the last.
    ///
    /// # Errors
    /// `NOT_FOUND` before the first one; then the place is nowhere.
    ///
    /// # Examples
    /// See [`Task::key_first`].
    pub fn key_previous(&mut self, field: i64, database: i32) -> Outcome {
        self.key_step(field, database, Step::Previous)
    }

    /// Copies the value of the key that was used last.
    ///
    /// # Errors
    /// `KEY_SEQUENCE` if none was, or it is nowhere; `BAD_DATA` if there is too little room.
    ///
    /// # Examples
    /// See [`Task::key_first`].
    pub fn key_read(&mut self, value: &mut [u8]) -> Outcome {
        let open = self.last_database()?;
        let place = open.last_key_place().ok_or(Status::KEY_SEQUENCE)?;
        let ((record, field), place) = place;
        let Some(key) = &open.shared.dictionary.records[record].fields[field].key else {
            return Err(Status::NOT_KEY.into());
        };
        if value.len() < key.size {
            return Err(Status::BAD_DATA.because("the key is longer"));
        }
        structs::read_struct(&place.draft.row(), &open.shared.columns[record], &key.leaves, value)
    }

    /// Bytes of the value that [`Task::key_read`] copies.
    ///
    /// # Errors
    /// `KEY_SEQUENCE`.
    ///
    /// # Examples
    /// See [`Task::key_first`].
    pub fn last_key_size(&mut self) -> Outcome<usize> {
        let open = self.last_database()?;
        let ((record, field), _) = open.last_key_place().ok_or(Status::KEY_SEQUENCE)?;
        let key = &open.shared.dictionary.records[record].fields[field].key;
        Ok(key.as_ref().map_or(0, |key| key.size))
    }

    /// The database whose key was used last.
    fn last_database(&mut self) -> Outcome<&mut OpenDatabase> {
        self.number(crate::CURR_DB)?;
        let last = self.last_database.min(self.databases.len() - 1);
        Ok(&mut self.databases[last])
    }

    fn key_step(&mut self, field: i64, database: i32, step: Step) -> Outcome {
        let number = self.number(database)?;
        let open = &mut self.databases[number];
        let (record, place, key) = open.shared.dictionary.key(field)?;
        if !key.is_ordered {
            return Err(Status::NOT_KEY.because("a hash key has no order"));
        }
        let ordinal = key.ordinal;
        let new = || KeyPlace { draft: open.shared.tables[record].draft(), at: KeyAt::Nowhere };
        let mut from = open.keys[record][place].take().unwrap_or_else(new);
        let found = self.read(number, |shared, tx| {
            let table = &shared.tables[record];
            let mut cursor = tx.cursor(table, table.index_at(ordinal)?)?;
            match moved(&mut cursor, &from, step)? {
                Some(row) => {
                    from.draft.load(&row)?;
                    Ok(Some(row.id()))
                }
                None => {
                    // There are no more, or one could not be read.
                    tx.status()?;
                    Ok(None)
                }
            }
        });
        let open = &mut self.databases[number];
        if let Ok(found) = &found {
            from.at = found.map_or(KeyAt::Nowhere, KeyAt::Record);
        }
        open.keys[record][place] = Some(from);
        let found = found?;
        open.last_key = Some((record, place));
        self.last_database = number;
        let open = &mut self.databases[number];
        match found {
            Some(row) => {
                open.record = Some(Address::new(record, row));
                Ok(())
            }
            None => Err(Status::NOT_FOUND.into()),
        }
    }
}

/// The row to which a step from a place leads.
fn moved<'t>(cursor: &mut Cursor<'t>, from: &KeyPlace, step: Step) -> Outcome<Option<Row<'t>>> {
    let (row, find) = match (step, from.at) {
        (Step::First, _) | (Step::Next, KeyAt::Nowhere) => return Ok(cursor.first()),
        (Step::Last, _) | (Step::Previous, KeyAt::Nowhere) => return Ok(cursor.last()),
        (Step::Next, KeyAt::Record(row)) => (Some(row), Find::Above),
        (Step::Previous, KeyAt::Record(row)) => (Some(row), Find::Below),
        (Step::Next, KeyAt::Between) => (None, Find::AtLeast),
        (Step::Previous, KeyAt::Between) => (None, Find::Below),
    };
    let position = cursor.position_of_draft(&from.draft, row)?;
    Ok(cursor.find_position(find, &position)?)
}

impl OpenDatabase {
    fn last_key_place(&self) -> Option<((usize, usize), &KeyPlace)> {
        let (record, field) = self.last_key?;
        let place = self.keys[record][field].as_ref()?;
        (place.at != KeyAt::Nowhere).then_some(((record, field), place))
    }
}

impl Opened {
    /// The place of a table among the record types.
    pub(crate) fn record_of(&self, table: &remanent_engine::Table) -> usize {
        let place = self.tables.iter().position(|known| known.name() == table.name());
        place.unwrap_or_default()
    }
}
