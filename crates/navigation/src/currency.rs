//! Currency: where a task stands, asked and set.
//!
//! A current record, owner or member is an address and nothing more: whether the record is still
//! there is found when it is used. Setting a member sets its owner, so the two always fit.

use crate::dictionary::Dictionary;
use crate::position::Address;
use crate::status::{Outcome, Status};
use crate::task::Task;

impl Task {
    /// The current record.
    ///
    /// # Errors
    /// `NO_CURRENT_RECORD`.
    ///
    /// # Examples
    /// ```
    /// # use remanent_navigation::{CURR_DB, Declared, Status, Task, register};
    /// # let folder = tempfile::tempdir()?;
    /// # let text = "database cr { record R { long id; } }";
    /// # register(Declared { name: "cr".into(), text: text.into(), records: Vec::new() });
    /// # let mut task = Task::new();
    /// # task.open(&format!("{}/cr", folder.path().display()), "o")?;
    /// task.fill_new(10000, &7_i64.to_le_bytes(), CURR_DB)?;
    /// let seven = task.current_record(CURR_DB)?;
    /// task.fill_new(10000, &8_i64.to_le_bytes(), CURR_DB)?;
    /// task.current_record_set(Some(seven), CURR_DB)?;
    /// assert_eq!(task.record_type(CURR_DB)?, 10000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn current_record(&mut self, database: i32) -> Outcome<Address> {
        self.database(database)?.current()
    }

    /// Sets the current record, or that there is none.
    ///
    /// # Errors
    /// `INVALID_RECORD` if the address is none of this database.
    ///
    /// # Examples
    /// See [`Task::current_record`].
    pub fn current_record_set(&mut self, address: Option<Address>, database: i32) -> Outcome {
        let open = self.database(database)?;
        if address.is_some_and(|address| address.table() >= open.shared.tables.len()) {
            return Err(Status::INVALID_RECORD.into());
        }
        open.record = address;
        Ok(())
    }

    /// The current owner of a set.
    ///
    /// # Errors
    /// `NO_CURRENT_OWNER`, `INVALID_SET`.
    ///
    /// # Examples
    /// See [`Task::current_record`].
    pub fn current_owner(&mut self, set: i32, database: i32) -> Outcome<Address> {
        let open = self.database(database)?;
        let set = open.shared.dictionary.set(set)?;
        open.owners[set].ok_or_else(|| Status::NO_CURRENT_OWNER.into())
    }

    /// Sets the current owner of a set, which has no current member then.
    ///
    /// # Errors
    /// `INVALID_OWNER`, `INVALID_SET`.
    ///
    /// # Examples
    /// See [`Task::current_record`].
    pub fn current_owner_set(
        &mut self,
        set: i32,
        address: Option<Address>,
        database: i32,
    ) -> Outcome {
        let open = self.database(database)?;
        let set = open.shared.dictionary.set(set)?;
        let owner = open.shared.dictionary.sets[set].owner;
        if address.is_some_and(|address| address.table() != owner) {
            return Err(Status::INVALID_OWNER.into());
        }
        open.owners[set] = address;
        open.members[set] = None;
        Ok(())
    }

    /// The current member of a set.
    ///
    /// # Errors
    /// `NO_CURRENT_MEMBER`, `INVALID_SET`.
    ///
    /// # Examples
    /// See [`Task::current_record`].
    pub fn current_member(&mut self, set: i32, database: i32) -> Outcome<Address> {
        let open = self.database(database)?;
        let set = open.shared.dictionary.set(set)?;
        open.members[set].ok_or_else(|| Status::NO_CURRENT_MEMBER.into())
    }

    /// Sets the current member of a set and its owner as the current owner, or that there is no
    /// current member.
    ///
    /// # Errors
    /// `NOT_CONNECTED`, `INVALID_OWNER` if records of its type are no members, `INVALID_SET`.
    ///
    /// # Examples
    /// See [`Task::current_record`].
    pub fn current_member_set(
        &mut self,
        set: i32,
        address: Option<Address>,
        database: i32,
    ) -> Outcome {
        let number = self.number(database)?;
        let open = &mut self.databases[number];
        let set = open.shared.dictionary.set(set)?;
        let Some(address) = address else {
            open.members[set] = None;
            return Ok(());
        };
        let known = &open.shared.dictionary.sets[set];
        if !known.members.contains(&address.table()) {
            return Err(Status::INVALID_OWNER.into());
        }
        let owner_table = known.owner;
        let owner = self.read(number, |shared, tx| {
            let table = &shared.tables[address.table()];
            Ok(tx.owner_of(&shared.sets[set], table, address.row)?)
        })?;
        let Some(owner) = owner else { return Err(Status::NOT_CONNECTED.into()) };
        let open = &mut self.databases[number];
        open.owners[set] = Some(Address::new(owner_table, owner));
        open.members[set] = Some(address);
        Ok(())
    }

    /// Makes the current owner of a set the current record.
    ///
    /// # Errors
    /// `NO_CURRENT_OWNER`, `INVALID_SET`.
    ///
    /// # Examples
    /// See [`Task::connect`].
    pub fn record_from_owner(&mut self, set: i32, database: i32) -> Outcome {
        let owner = self.current_owner(set, database)?;
        self.current_record_set(Some(owner), database)
    }

    /// Makes the current member of a set the current record.
    ///
    /// # Errors
    /// `NO_CURRENT_MEMBER`, `INVALID_SET`.
    ///
    /// # Examples
    /// See [`Task::connect`].
    pub fn record_from_member(&mut self, set: i32, database: i32) -> Outcome {
        let member = self.current_member(set, database)?;
        self.current_record_set(Some(member), database)
    }

    /// The constant of the current record's type.
    ///
    /// # Errors
    /// `NO_CURRENT_RECORD`.
    ///
    /// # Examples
    /// See [`Task::current_record`].
    pub fn record_type(&mut self, database: i32) -> Outcome<i32> {
        Ok(Dictionary::constant(self.current_record(database)?.table()))
    }

    /// The constant of the current owner's type.
    ///
    /// # Errors
    /// `NO_CURRENT_OWNER`, `INVALID_SET`.
    ///
    /// # Examples
    /// See [`Task::current_record`].
    pub fn owner_type(&mut self, set: i32, database: i32) -> Outcome<i32> {
        Ok(Dictionary::constant(self.current_owner(set, database)?.table()))
    }

    /// The constant of the current member's type.
    ///
    /// # Errors
    /// `NO_CURRENT_MEMBER`, `INVALID_SET`.
    ///
    /// # Examples
    /// See [`Task::current_record`].
    pub fn member_type(&mut self, set: i32, database: i32) -> Outcome<i32> {
        Ok(Dictionary::constant(self.current_member(set, database)?.table()))
    }
}
