//! Network sets: owners, members, and the way from one to the other.
//!
//! A step moves the current member and the current record together; at the end of a set there is
//! no current member and the current record stays. A current member that is no longer one of the
//! current owner's is a clash, and is forgotten.

use remanent_engine::{Member, MemberPosition, Members};

use crate::opened::Opened;
use crate::position::Address;
use crate::status::{Outcome, Status};
use crate::task::{Task, reading};

/// A step of the current member.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    First,
    Last,
    Next,
    Previous,
}

impl Task {
    /// Makes the current record the current owner of a set, which has no current member then.
    ///
    /// # Errors
    /// `INVALID_OWNER` if records of its type own no members of the set, `NO_CURRENT_RECORD`,
    /// `INVALID_SET`.
    ///
    /// # Examples
    /// See [`Task::connect`].
    #[inline]
    pub fn set_owner(&mut self, set: i32, database: i32) -> Outcome {
        let open = self.database(database)?;
        let set = open.shared.dictionary.set(set)?;
        let address = open.current()?;
        if open.shared.dictionary.sets[set].owner != address.table() {
            return Err(Status::INVALID_OWNER.into());
        }
        open.owners[set] = Some(address);
        open.members[set] = None;
        Ok(())
    }

    /// Makes the current record the current member of a set, and its owner the current owner.
    ///
    /// # Errors
    /// `NOT_CONNECTED`, `INVALID_OWNER` if records of its type are no members, `NO_CURRENT_RECORD`,
    /// `INVALID_SET`.
    ///
    /// # Examples
    /// See [`Task::connect`].
    pub fn set_member(&mut self, set: i32, database: i32) -> Outcome {
        let address = self.database(database)?.current()?;
        self.current_member_set(set, Some(address), database)
    }

    /// Makes the current record a member of the current owner, where the order of the set says;
    /// it is the current member then.
    ///
    /// # Errors
    /// `IS_OWNED` if it has an owner already, `NO_CURRENT_OWNER`, `NO_CURRENT_RECORD`,
    /// `INVALID_OWNER` if records of its type are no members, `SET_CLASH` if the current member,
    /// behind which it belongs, has gone; `NOT_LOCKED` for either record type, `NO_TRANSACTION`.
    ///
    /// # Examples
    /// ```
    /// # use remanent_navigation::{CURR_DB, Declared, Status, Task, register};
    /// # let folder = tempfile::tempdir()?;
    /// let text = "database tree {
    ///     record Owner { long id; }
    ///     record Leaf { long id; }
    ///     set Leaves { order last; owner Owner; member Leaf; }
    /// }";
    /// const LEAVES: i32 = 20000;
    /// # register(Declared { name: "tree".into(), text: text.into(), records: Vec::new() });
    /// # let mut task = Task::new();
    /// # task.open(&format!("{}/tree", folder.path().display()), "o")?;
    /// task.fill_new(10000, &1_i64.to_le_bytes(), CURR_DB)?;
    /// task.set_owner(LEAVES, CURR_DB)?;
    /// for id in [10_i64, 20] {
    ///     task.fill_new(10001, &id.to_le_bytes(), CURR_DB)?;
    ///     task.connect(LEAVES, CURR_DB)?;
    /// }
    /// assert_eq!(task.delete(CURR_DB).unwrap_err().status, Status::IS_MEMBER);
    /// task.find_first(LEAVES, CURR_DB)?;
    /// let mut id = [0; 8];
    /// task.record_read(&mut id, CURR_DB)?;
    /// assert_eq!(i64::from_le_bytes(id), 10);
    /// task.find_next(LEAVES, CURR_DB)?;
    /// assert_eq!(task.find_next(LEAVES, CURR_DB).unwrap_err().status, Status::END_OF_SET);
    /// assert_eq!(task.member_count(LEAVES, CURR_DB)?, 2);
    /// task.disconnect_and_delete(CURR_DB)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn connect(&mut self, set: i32, database: i32) -> Outcome {
        let number = self.number(database)?;
        let open = &self.databases[number];
        let set = open.shared.dictionary.set(set)?;
        let record = open.current()?;
        let owner = open.owners[set].ok_or(Status::NO_CURRENT_OWNER)?;
        if !open.shared.dictionary.sets[set].members.contains(&record.table()) {
            return Err(Status::INVALID_OWNER.into());
        }
        open.check_write_lock(owner.table())?;
        open.check_write_lock(record.table())?;
        let after = open.members[set];
        self.write(number, |shared, tx| {
            let member = (&shared.tables[record.table()], record.row);
            let after = after.map(|after| (&shared.tables[after.table()], after.row));
            let connected = tx.connect_after(&shared.sets[set], owner.row, member, after);
            connected.map_err(|error| match error.kind() {
                remanent_engine::ErrorKind::NotMember => Status::SET_CLASH.into(),
                _ => error.into(),
            })
        })?;
        self.databases[number].members[set] = Some(record);
        Ok(())
    }

    /// Disconnects the current member, which is the current record then; the next member is the
    /// current member.
    ///
    /// # Errors
    /// `END_OF_SET` if it was disconnected and there is no next member; `NO_CURRENT_OWNER`,
    /// `NO_CURRENT_MEMBER`, `SET_CLASH`, `NOT_CONNECTED`, `NOT_LOCKED`, `NO_TRANSACTION`.
    ///
    /// # Examples
    /// See [`Task::connect`].
    pub fn disconnect(&mut self, set: i32, database: i32) -> Outcome {
        let number = self.number(database)?;
        let open = &self.databases[number];
        let set = open.shared.dictionary.set(set)?;
        let owner = open.owners[set].ok_or(Status::NO_CURRENT_OWNER)?;
        let member = open.members[set].ok_or(Status::NO_CURRENT_MEMBER)?;
        open.check_write_lock(owner.table())?;
        open.check_write_lock(member.table())?;
        let next = self.write(number, |shared, tx| {
            let (kind, table) = (&shared.sets[set], &shared.tables[member.table()]);
            let Some(mut siblings) = tx.siblings(kind, table, member.row)? else {
                return Err(Status::NOT_CONNECTED.into());
            };
            if siblings.owner() != owner.row {
                return Err(Status::SET_CLASH.into());
            }
            let next = siblings.next()?.map(|next| address_of(shared, &next));
            drop(siblings);
            tx.disconnect(kind, table, member.row)?;
            Ok(next)
        })?;
        let open = &mut self.databases[number];
        open.record = Some(member);
        open.members[set] = next;
        if next.is_some() { Ok(()) } else { Err(Status::END_OF_SET.into()) }
    }

    /// Makes the first member of the current owner the current member and record.
    ///
    /// # Errors
    /// `END_OF_SET` if there is none: then there is no current member, and the current record
    /// stays. `NO_CURRENT_OWNER`, `INVALID_SET`.
    ///
    /// # Examples
    /// See [`Task::connect`].
    #[inline]
    pub fn find_first(&mut self, set: i32, database: i32) -> Outcome {
        self.step(set, database, Step::First)
    }

    /// Makes the last member the current member and record.
    ///
    /// # Errors
    /// As [`Task::find_first`].
    ///
    /// # Examples
    /// See [`Task::connect`].
    pub fn find_last(&mut self, set: i32, database: i32) -> Outcome {
        self.step(set, database, Step::Last)
    }

    /// Makes the next member the current member and record; without a current member, the first.
    ///
    /// # Errors
    /// As [`Task::find_first`]; `SET_CLASH` if the current member is not one of the current owner
    /// any more: then there is no current member.
    ///
    /// # Examples
    /// See [`Task::connect`].
    #[inline]
    pub fn find_next(&mut self, set: i32, database: i32) -> Outcome {
        self.step(set, database, Step::Next)
    }

    /// Makes the member before the current member and record; without a current member, the last.
    ///
    /// # Errors
    /// As [`Task::find_next`].
    ///
    /// # Examples
    /// See [`Task::connect`].
    pub fn find_previous(&mut self, set: i32, database: i32) -> Outcome {
        self.step(set, database, Step::Previous)
    }

    /// Makes the owner of the current record the current owner and record; the record is the
    /// current member.
    ///
    /// # Errors
    /// `NOT_CONNECTED`, and as [`Task::set_member`].
    ///
    /// # Examples
    /// See [`Task::connect`].
    pub fn find_owner(&mut self, set: i32, database: i32) -> Outcome {
        self.set_member(set, database)?;
        let open = self.database(database)?;
        let set = open.shared.dictionary.set(set)?;
        open.record = open.owners[set];
        Ok(())
    }

    /// How many members the current owner has; they are counted one by one.
    ///
    /// # Errors
    /// `NO_CURRENT_OWNER`, `INVALID_SET`.
    ///
    /// # Examples
    /// See [`Task::connect`].
    pub fn member_count(&mut self, set: i32, database: i32) -> Outcome<u64> {
        let number = self.number(database)?;
        let open = &self.databases[number];
        let set = open.shared.dictionary.set(set)?;
        let owner = open.owners[set].ok_or(Status::NO_CURRENT_OWNER)?;
        self.read(number, |shared, tx| Ok(tx.members(&shared.sets[set], owner.row)?.count()?))
    }

    /// Whether the current record is a member of a set.
    ///
    /// # Errors
    /// `END_OF_SET` if it is not; `NO_CURRENT_RECORD`, `INVALID_OWNER`, `INVALID_SET`.
    ///
    /// # Examples
    /// See [`Task::connect`].
    pub fn is_member(&mut self, set: i32, database: i32) -> Outcome {
        let number = self.number(database)?;
        let open = &self.databases[number];
        let set = open.shared.dictionary.set(set)?;
        let record = open.current()?;
        if !open.shared.dictionary.sets[set].members.contains(&record.table()) {
            return Err(Status::INVALID_OWNER.into());
        }
        let owner = self.read(number, |shared, tx| {
            Ok(tx.owner_of(&shared.sets[set], &shared.tables[record.table()], record.row)?)
        })?;
        if owner.is_some() { Ok(()) } else { Err(Status::END_OF_SET.into()) }
    }

    /// Whether the current record owns members of a set.
    ///
    /// # Errors
    /// `END_OF_SET` if it does not; `NO_CURRENT_RECORD`, `INVALID_OWNER`, `INVALID_SET`.
    ///
    /// # Examples
    /// See [`Task::connect`].
    pub fn is_owner(&mut self, set: i32, database: i32) -> Outcome {
        let number = self.number(database)?;
        let open = &self.databases[number];
        let set = open.shared.dictionary.set(set)?;
        let record = open.current()?;
        if open.shared.dictionary.sets[set].owner != record.table() {
            return Err(Status::INVALID_OWNER.into());
        }
        let has = self.read(number, |shared, tx| {
            Ok(tx.members(&shared.sets[set], record.row)?.first()?.is_some())
        })?;
        if has { Ok(()) } else { Err(Status::END_OF_SET.into()) }
    }

    fn step(&mut self, set: i32, database: i32, step: Step) -> Outcome {
        let number = self.number(database)?;
        let open = &self.databases[number];
        let set = open.shared.dictionary.set(set)?;
        let owner = open.owners[set].ok_or(Status::NO_CURRENT_OWNER)?;
        let member = open.members[set].filter(|_| matches!(step, Step::Next | Step::Previous));
        let place = open.places[set].as_ref().filter(|(at, _)| Some(*at) == member);
        let found = reading(&open.shared, &open.held, |shared, tx| {
            let kind = &shared.sets[set];
            let Some(from) = member else {
                return stand(shared, tx.members(kind, owner.row)?, step);
            };
            let mut members = match place {
                Some((_, place)) => tx.members_at(kind, place)?,
                None => None,
            };
            if members.is_none() {
                members = tx.siblings(kind, &shared.tables[from.table()], from.row)?;
            }
            match members {
                Some(members) if members.owner() == owner.row => stand(shared, members, step),
                _ => Err(Status::SET_CLASH.into()),
            }
        });
        let open = &mut self.databases[number];
        match found {
            Ok(Some((found, place))) => {
                open.members[set] = Some(found);
                open.record = Some(found);
                open.places[set] = place.map(|place| (found, place));
                Ok(())
            }
            Ok(None) => {
                open.members[set] = None;
                Err(Status::END_OF_SET.into())
            }
            Err(fault) => {
                if fault.status == Status::SET_CLASH {
                    open.members[set] = None;
                }
                Err(fault)
            }
        }
    }
}

/// The member to which a step leads, and its place.
fn stand(
    shared: &Opened,
    mut members: Members<'_>,
    step: Step,
) -> Outcome<Option<(Address, Option<MemberPosition>)>> {
    let found = match step {
        Step::First => members.first()?,
        Step::Last => members.last()?,
        Step::Next => members.next()?,
        // Without a member to come from, the last one.
        Step::Previous if members.position()?.is_none() => members.last()?,
        Step::Previous => members.previous()?,
    };
    match found {
        Some(found) => Ok(Some((address_of(shared, &found), members.position()?))),
        None => Ok(None),
    }
}

fn address_of(shared: &Opened, member: &Member<'_>) -> Address {
    Address::new(shared.record_of(member.table()), member.row().id())
}
