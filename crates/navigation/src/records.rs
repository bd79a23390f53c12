//! Records: made, read, written, deleted, and gone through in the order of their addresses.
//!
//! What is written needs a transaction and the record type's lock, but in a database that is open
//! for this task alone. Going through records needs no current one: a walk knows where it was.

use remanent_engine::{Row, RowDraft, RowId, WriteTransaction};

use crate::opened::Opened;
use crate::position::Address;
use crate::status::{Outcome, Status};
use crate::structs;
use crate::task::{OpenDatabase, Task};

impl Task {
    /// Makes a record from a struct, which is the current record then.
    ///
    /// # Errors
    /// `DUPLICATE` for a unique key, `NOT_LOCKED`, `NO_TRANSACTION`, `INVALID_RECORD`, `BAD_DATA`
    /// also if the struct is shorter than the record, `NO_SPACE`, `RECORD_LIMIT`.
    ///
    /// # Examples
    /// See [`Task`].
    #[inline]
    pub fn fill_new(&mut self, record: i32, value: &[u8], database: i32) -> Outcome {
        let number = self.number(database)?;
        let open = &self.databases[number];
        let record = open.shared.dictionary.record(record)?;
        open.check_write_lock(record)?;
        let mut kept = self.databases[number].drafts[record].take();
        let row = self.write(number, |shared, tx| {
            let known = &shared.dictionary.records[record];
            if value.len() < known.size {
                return Err(Status::BAD_DATA.because("the struct is too short"));
            }
            let draft = kept.get_or_insert_with(|| shared.tables[record].draft());
            draft.reset();
            structs::write_struct(draft, &shared.columns[record], &known.leaves, value)?;
            if let Some(most) = known.circular {
                number_circular(shared, tx, record, most, draft)?;
            }
            Ok(tx.insert_draft(draft)?)
        });
        let open = &mut self.databases[number];
        open.drafts[record] = kept;
        open.record = Some(Address::new(record, row?));
        Ok(())
    }

    /// Makes a record of zeros and empty text, to be written field by field.
    ///
    /// # Errors
    /// As [`Task::fill_new`].
    ///
    /// # Examples
    /// See [`Task::field_write`].
    pub fn make_new(&mut self, record: i32, database: i32) -> Outcome {
        let open = self.database(database)?;
        let number = open.shared.dictionary.record(record)?;
        let zeros = vec![0; open.shared.dictionary.records[number].size];
        self.fill_new(record, &zeros, database)
    }

    /// Copies the current record into a struct.
    ///
    /// # Errors
    /// `NO_CURRENT_RECORD`, `DELETED` if it is not there any more, `BAD_DATA` if the struct is
    /// shorter than the record.
    ///
    /// # Examples
    /// See [`Task`].
    #[inline]
    pub fn record_read(&mut self, value: &mut [u8], database: i32) -> Outcome {
        let number = self.number(database)?;
        let address = self.databases[number].current()?;
        self.read(number, |shared, tx| {
            let record = address.table();
            let Some(row) = tx.row(&shared.tables[record], address.row)? else {
                return Err(Status::DELETED.into());
            };
            let known = &shared.dictionary.records[record];
            if value.len() < known.size {
                return Err(Status::BAD_DATA.because("the struct is too short"));
            }
            structs::read_struct(&row, &shared.columns[record], &known.leaves, value)
        })
    }

    /// Bytes of the current record's struct.
    ///
    /// # Errors
    /// `NO_CURRENT_RECORD`.
    ///
    /// # Examples
    /// See [`Task::field_size`].
    pub fn record_size(&mut self, database: i32) -> Outcome<usize> {
        let open = self.database(database)?;
        let address = open.current()?;
        Ok(open.shared.dictionary.records[address.table()].size)
    }

    /// Bytes of the struct of a record type.
    ///
    /// # Errors
    /// `INVALID_RECORD`.
    ///
    /// # Examples
    /// See [`Task::field_size`].
    pub fn record_type_size(&mut self, record: i32, database: i32) -> Outcome<usize> {
        let open = self.database(database)?;
        let record = open.shared.dictionary.record(record)?;
        Ok(open.shared.dictionary.records[record].size)
    }

    /// Puts a struct in the place of the current record; keys and sorted sets follow.
    ///
    /// # Errors
    /// As [`Task::fill_new`] and [`Task::record_read`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_navigation::{CURR_DB, Declared, Status, Task, register};
    /// # let folder = tempfile::tempdir()?;
    /// # let text = "database wr { record R { unique key long id; } }";
    /// # register(Declared { name: "wr".into(), text: text.into(), records: Vec::new() });
    /// # let mut task = Task::new();
    /// # task.open(&format!("{}/wr", folder.path().display()), "o")?;
    /// task.fill_new(10000, &7_i64.to_le_bytes(), CURR_DB)?;
    /// task.record_write(&8_i64.to_le_bytes(), CURR_DB)?;
    /// task.key_find(0, Some(&8_i64.to_le_bytes()), CURR_DB)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn record_write(&mut self, value: &[u8], database: i32) -> Outcome {
        let number = self.number(database)?;
        let address = self.databases[number].current()?;
        let record = address.table();
        self.databases[number].check_write_lock(record)?;
        self.write(number, |shared, tx| {
            let known = &shared.dictionary.records[record];
            if value.len() < known.size {
                return Err(Status::BAD_DATA.because("the struct is too short"));
            }
            let mut draft = shared.tables[record].draft();
            structs::write_struct(&mut draft, &shared.columns[record], &known.leaves, value)?;
            Ok(tx.update_draft(address.row, &draft)?)
        })
    }

    /// Copies one field of the current record, or the parts of a compound key.
    ///
    /// # Errors
    /// As [`Task::record_read`]; `INVALID_FIELD` if it is none of the current record's.
    ///
    /// # Examples
    /// See [`Task::field_write`].
    #[inline]
    pub fn field_read(&mut self, field: i64, value: &mut [u8], database: i32) -> Outcome {
        let number = self.number(database)?;
        let (address, place) = self.databases[number].current_field(field)?;
        self.read(number, |shared, tx| {
            let record = address.table();
            let Some(row) = tx.row(&shared.tables[record], address.row)? else {
                return Err(Status::DELETED.into());
            };
            let (leaves, start, size) = shared.dictionary.records[record].place_of(place);
            if value.len() < size {
                return Err(Status::BAD_DATA.because("the field is longer"));
            }
            for leaf in leaves {
                let at = remanent_ddl::CField { offset: leaf.offset - start, ..*leaf };
                structs::read_struct(&row, &shared.columns[record], &[at], value)?;
            }
            Ok(())
        })
    }

    /// Writes one field of the current record, or the parts of a compound key. Text may be given
    /// without what follows its end.
    ///
    /// # Errors
    /// As [`Task::record_write`] and [`Task::field_read`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_navigation::{CURR_DB, Declared, Status, Task, register};
    /// # let folder = tempfile::tempdir()?;
    /// # let text = "database fw { record R { long id; short n; } }";
    /// # register(Declared { name: "fw".into(), text: text.into(), records: Vec::new() });
    /// # let mut task = Task::new();
    /// # task.open(&format!("{}/fw", folder.path().display()), "o")?;
    /// task.make_new(10000, CURR_DB)?;
    /// task.field_write(1, &3_i16.to_le_bytes(), CURR_DB)?;
    /// let mut n = [0; 2];
    /// task.field_read(1, &mut n, CURR_DB)?;
    /// assert_eq!(n, 3_i16.to_le_bytes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn field_write(&mut self, field: i64, value: &[u8], database: i32) -> Outcome {
        let number = self.number(database)?;
        let (address, place) = self.databases[number].current_field(field)?;
        let record = address.table();
        self.databases[number].check_write_lock(record)?;
        self.write(number, |shared, tx| {
            let table = &shared.tables[record];
            let Some(row) = tx.row(table, address.row)? else {
                return Err(Status::DELETED.into());
            };
            let known = &shared.dictionary.records[record];
            let (leaves, start, size) = known.place_of(place);
            if value.len() < size && !known.is_text(place) {
                return Err(Status::BAD_DATA.because("the field is longer"));
            }
            let mut draft = table.draft();
            draft.load(&row)?;
            for leaf in leaves {
                let at = remanent_ddl::CField { offset: leaf.offset - start, ..*leaf };
                structs::write_struct(&mut draft, &shared.columns[record], &[at], value)?;
            }
            Ok(tx.update_draft(address.row, &draft)?)
        })
    }

    /// Bytes of a field, or of a compound key's struct.
    ///
    /// # Errors
    /// `INVALID_FIELD`.
    ///
    /// # Examples
    /// ```
    /// # use remanent_navigation::{CURR_DB, Declared, Status, Task, register};
    /// # let folder = tempfile::tempdir()?;
    /// # let text = "database fs { record R { long id; char name[20]; } }";
    /// # register(Declared { name: "fs".into(), text: text.into(), records: Vec::new() });
    /// # let mut task = Task::new();
    /// # task.open(&format!("{}/fs", folder.path().display()), "o")?;
    /// assert_eq!(task.field_size(1, CURR_DB)?, 20);
    /// assert!(task.is_text(1, CURR_DB)? && !task.is_text(0, CURR_DB)?);
    /// assert_eq!(task.record_type_size(10000, CURR_DB)?, 32);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn field_size(&mut self, field: i64, database: i32) -> Outcome<usize> {
        let open = self.database(database)?;
        let (record, place) = open.shared.dictionary.field(field)?;
        Ok(open.shared.dictionary.records[record].place_of(place).2)
    }

    /// Whether a field is text, of which a program may give less than its size.
    ///
    /// # Errors
    /// `INVALID_FIELD`.
    ///
    /// # Examples
    /// See [`Task::field_size`].
    #[inline]
    pub fn is_text(&mut self, field: i64, database: i32) -> Outcome<bool> {
        let open = self.database(database)?;
        let (record, place) = open.shared.dictionary.field(field)?;
        Ok(open.shared.dictionary.records[record].is_text(place))
    }

    /// Deletes the current record; then there is none.
    ///
    /// # Errors
    /// `HAS_MEMBERS`, `IS_MEMBER`, `NO_CURRENT_RECORD`, `DELETED`, `NOT_LOCKED`, `NO_TRANSACTION`.
    ///
    /// # Examples
    /// See [`Task::connect`].
    pub fn delete(&mut self, database: i32) -> Outcome {
        self.delete_current(database, false)
    }

    /// Disconnects the current record and what it owns from all sets, and deletes it.
    ///
    /// # Errors
    /// As [`Task::delete`]; `NOT_LOCKED` also for the types of members and owners that it is linked
    /// with.
    ///
    /// # Examples
    /// See [`Task::connect`].
    pub fn disconnect_and_delete(&mut self, database: i32) -> Outcome {
        self.delete_current(database, true)
    }

    fn delete_current(&mut self, database: i32, disconnect: bool) -> Outcome {
        let number = self.number(database)?;
        let address = self.databases[number].current()?;
        let record = address.table();
        self.databases[number].check_write_lock(record)?;
        if self.databases[number].shared.dictionary.system == Some(record) {
            return Err(Status::INVALID_RECORD.because("the system record stays"));
        }
        if disconnect {
            for linked in self.linked_types(number, address)? {
                self.databases[number].check_write_lock(linked)?;
            }
        }
        self.write(number, |shared, tx| {
            let table = &shared.tables[record];
            for (set, known) in shared.sets.iter().zip(&shared.dictionary.sets) {
                if disconnect && known.owner == record {
                    while let Some(member) = tx.members(set, address.row)?.first()? {
                        tx.disconnect(set, member.table(), member.row().id())?;
                    }
                }
                if disconnect
                    && known.members.contains(&record)
                    && tx.owner_of(set, table, address.row)?.is_some()
                {
                    tx.disconnect(set, table, address.row)?;
                }
            }
            Ok(tx.delete(table, address.row)?)
        })?;
        self.databases[number].forget_record(address);
        Ok(())
    }

    /// The types of the records that a record is linked with.
    fn linked_types(&mut self, number: usize, address: Address) -> Outcome<Vec<usize>> {
        let record = address.table();
        self.read(number, |shared, tx| {
            let mut types = Vec::new();
            for (set, known) in shared.sets.iter().zip(&shared.dictionary.sets) {
                if known.owner == record {
                    let mut members = tx.members(set, address.row)?;
                    while let Some(member) = members.next()? {
                        types.push(shared.record_of(member.table()));
                    }
                }
                let is_member = known.members.contains(&record);
                if is_member && tx.owner_of(set, &shared.tables[record], address.row)?.is_some() {
                    types.push(known.owner);
                }
            }
            types.sort_unstable();
            types.dedup();
            Ok(types)
        })
    }

    /// Makes the first record of a type the current one, in the order of addresses.
    ///
    /// # Errors
    /// `NOT_FOUND` if there is none, `INVALID_RECORD`.
    ///
    /// # Examples
    /// ```
    /// # use remanent_navigation::{CURR_DB, Declared, Status, Task, register};
    /// # let folder = tempfile::tempdir()?;
    /// # let text = "database wk { record R { long id; } }";
    /// # register(Declared { name: "wk".into(), text: text.into(), records: Vec::new() });
    /// # let mut task = Task::new();
    /// # task.open(&format!("{}/wk", folder.path().display()), "o")?;
    /// for id in [1_i64, 2, 3] {
    ///     task.fill_new(10000, &id.to_le_bytes(), CURR_DB)?;
    /// }
    /// task.record_first(10000, CURR_DB)?;
    /// task.delete(CURR_DB)?;
    /// // Going on needs no current record.
    /// task.record_next(CURR_DB)?;
    /// let mut id = [0; 8];
    /// task.record_read(&mut id, CURR_DB)?;
    /// assert_eq!(i64::from_le_bytes(id), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn record_first(&mut self, record: i32, database: i32) -> Outcome {
        self.walk_from(record, database, true)
    }

    /// Makes the last record of a type the current one.
    ///
    /// # Errors
    /// As [`Task::record_first`].
    ///
    /// # Examples
    /// See there.
    pub fn record_last(&mut self, record: i32, database: i32) -> Outcome {
        self.walk_from(record, database, false)
    }

    /// Says which record type [`Task::record_next`] goes through, from the current record on if it
    /// is of that type.
    ///
    /// # Errors
    /// `INVALID_RECORD`.
    ///
    /// # Examples
    /// See [`Task::record_first`].
    pub fn record_set(&mut self, record: i32, database: i32) -> Outcome {
        let open = self.database(database)?;
        let record = open.shared.dictionary.record(record)?;
        let at = open.record.filter(|address| address.table() == record);
        open.walk = Some((record, at));
        Ok(())
    }

    /// Makes the next record the current one; works behind one that was deleted.
    ///
    /// # Errors
    /// `NOT_FOUND` behind the last one, `NO_TYPE` if no record type was said.
    ///
    /// # Examples
    /// See [`Task::record_first`].
    #[inline]
    pub fn record_next(&mut self, database: i32) -> Outcome {
        self.walk_on(database, true)
    }

    /// Makes the record before the current one.
    ///
    /// # Errors
    /// As [`Task::record_next`].
    ///
    /// # Examples
    /// See [`Task::record_first`].
    pub fn record_previous(&mut self, database: i32) -> Outcome {
        self.walk_on(database, false)
    }

    fn walk_from(&mut self, record: i32, database: i32, forward: bool) -> Outcome {
        let number = self.number(database)?;
        let record = self.databases[number].shared.dictionary.record(record)?;
        self.walk_to(number, record, None, forward)
    }

    fn walk_on(&mut self, database: i32, forward: bool) -> Outcome {
        let number = self.number(database)?;
        let open = &self.databases[number];
        let Some((record, last)) = open.walk else { return Err(Status::NO_TYPE.into()) };
        let current = open.record.filter(|address| address.table() == record);
        let from = current.or(last).map(|address| address.row);
        self.walk_to(number, record, from, forward)
    }

    fn walk_to(
        &mut self,
        number: usize,
        record: usize,
        from: Option<RowId>,
        forward: bool,
    ) -> Outcome {
        let found = self.read(number, |shared, tx| {
            let table = &shared.tables[record];
            let row =
                if forward { tx.row_after(table, from)? } else { tx.row_before(table, from)? };
            Ok(row.map(|row| Address::new(record, row.id())))
        })?;
        let open = &mut self.databases[number];
        match found {
            Some(address) => {
                open.walk = Some((record, Some(address)));
                open.record = Some(address);
                Ok(())
            }
            None => {
                let last = open.walk.filter(|(walked, _)| *walked == record);
                open.walk = Some((record, last.and_then(|(_, at)| at)));
                Err(Status::NOT_FOUND.into())
            }
        }
    }
}

/// Gives a new circular record its number, and makes room for it: the oldest ones go.
fn number_circular(
    shared: &Opened,
    tx: &WriteTransaction<'_>,
    record: usize,
    most: u64,
    draft: &mut RowDraft,
) -> Outcome {
    let table = &shared.tables[record];
    // By their names: an attached database may have more of both.
    let (column, index) = (table.column("circular")?, table.index("circular")?);
    let mut cursor = tx.cursor(table, index)?;
    let number_of = |row: Row<'_>| row.get::<u64>(column).unwrap_or(0);
    // Whoever inserts by other means may have used the last number: then the key is there already.
    let number = cursor.last().map_or(0, |row| number_of(row).saturating_add(1));
    let is_too_old = |row: &Row<'_>| number.saturating_sub(number_of(*row)) >= most;
    while let Some(oldest) = cursor.first().filter(|row| is_too_old(row)) {
        tx.delete(table, oldest.id())?;
    }
    tx.status()?;
    Ok(draft.set(column, number.into())?)
}

impl OpenDatabase {
    /// The current record.
    ///
    /// # Errors
    /// `NO_CURRENT_RECORD`.
    #[inline]
    pub(crate) fn current(&self) -> Outcome<Address> {
        self.record.ok_or_else(|| Status::NO_CURRENT_RECORD.into())
    }

    /// The current record and the place of one of its fields.
    fn current_field(&self, field: i64) -> Outcome<(Address, usize)> {
        let (record, place) = self.shared.dictionary.field(field)?;
        let address = self.current()?;
        if address.table() != record {
            return Err(Status::INVALID_FIELD.because("it is not of the current record"));
        }
        Ok((address, place))
    }

    /// Nobody stands on a record any more that has been deleted; where it was, is kept.
    fn forget_record(&mut self, address: Address) {
        if let Some((record, at)) = &mut self.walk
            && *record == address.table()
        {
            *at = Some(address);
        }
        self.record = None;
        for (owner, member) in self.owners.iter_mut().zip(&mut self.members) {
            if *owner == Some(address) {
                *owner = None;
                *member = None;
            }
            if *member == Some(address) {
                *member = None;
            }
        }
    }
}

impl crate::dictionary::Record {
    /// Whether a field is text and nothing else.
    pub(crate) fn is_text(&self, field: usize) -> bool {
        let leaves = &self.leaves[self.fields[field].leaves.clone()];
        matches!(leaves, [leaf] if leaf.kind == remanent_ddl::CKind::Text)
    }

    /// The leaves of a field in the record's struct, where it begins there, and its bytes. The
    /// parts of a compound key lie in a struct of their own and begin at 0.
    fn place_of(&self, field: usize) -> (&[remanent_ddl::CField], u32, usize) {
        let field = &self.fields[field];
        match &field.key {
            Some(key) if field.leaves.is_empty() => (&key.leaves, 0, key.size),
            _ => {
                let leaves = &self.leaves[field.leaves.clone()];
                let start = leaves.first().map_or(0, |leaf| leaf.offset);
                let end = leaves.iter().map(|leaf| leaf.offset + leaf.size).max();
                (leaves, start, (end.unwrap_or(start) - start) as usize)
            }
        }
    }
}
