//! The model: lists, and where a task stands. Statuses are the numbers that C programs know.

use std::collections::BTreeMap;

use remanent_navigation::Address;

pub(crate) const KINDS: usize = 3;
pub(crate) const SETS: usize = 5;

const END_OF_SET: i32 = 1;
const NOT_FOUND: i32 = 2;
const DUPLICATE: i32 = 3;
const DELETED: i32 = 6;
const SET_CLASH: i32 = 10;
const NO_RECORD: i32 = -7;
const NO_OWNER: i32 = -8;
const NO_MEMBER: i32 = -9;
const HAS_MEMBERS: i32 = -12;
const IS_MEMBER: i32 = -13;
const IS_OWNED: i32 = -14;
const INVALID_OWNER: i32 = -18;
const NO_TYPE: i32 = -46;
const NOT_CONNECTED: i32 = -993;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    pub(crate) kind: usize,
    pub(crate) id: i64,
    pub(crate) rank: i16,
}

/// What a transaction takes back.
#[derive(Clone, Debug, Default)]
pub(crate) struct Records {
    pub(crate) all: BTreeMap<u64, Known>,
    /// Of each set the members of each owner.
    pub(crate) sets: [BTreeMap<u64, Vec<u64>>; SETS],
}

/// A place in a key.
#[derive(Clone, Copy, Debug)]
enum ModelPosition {
    Nowhere,
    /// At a record that had this value.
    At(i64, u64),
    Between(i64),
}

#[derive(Debug)]
pub(crate) struct Expected {
    pub(crate) records: Records,
    pub(crate) saved: Option<Records>,
    pub(crate) record: Option<u64>,
    pub(crate) owners: [Option<u64>; SETS],
    pub(crate) members: [Option<u64>; SETS],
    walk: Option<(usize, Option<u64>)>,
    keys: [[ModelPosition; 2]; KINDS],
}

impl Expected {
    pub(crate) fn new() -> Expected {
        Expected {
            records: Records::default(),
            saved: None,
            record: None,
            owners: [None; SETS],
            members: [None; SETS],
            walk: None,
            keys: [[ModelPosition::Nowhere; 2]; KINDS],
        }
    }

    pub(crate) fn current_id(&self) -> Option<i64> {
        Some(self.records.all.get(&self.record?)?.id)
    }

    pub(crate) fn fill_new(
        &mut self,
        kind: usize,
        id: i64,
        rank: i16,
        address: Option<Address>,
    ) -> i32 {
        if self.records.all.values().any(|known| known.kind == kind && known.id == id) {
            return DUPLICATE;
        }
        let address = address.expect("a new record is current").number();
        let before = self.records.all.insert(address, Known { kind, id, rank });
        assert!(before.is_none(), "an address is given out once");
        self.record = Some(address);
        0
    }

    pub(crate) fn set_owner(&mut self, set: usize) -> i32 {
        let Some(record) = self.record else { return NO_RECORD };
        if kind_of(record) != 0 {
            return INVALID_OWNER;
        }
        self.owners[set] = Some(record);
        self.members[set] = None;
        0
    }

    pub(crate) fn connect(&mut self, set: usize) -> i32 {
        let Some(record) = self.record else { return NO_RECORD };
        let Some(owner) = self.owners[set] else { return NO_OWNER };
        if kind_of(record) == 0 {
            return INVALID_OWNER;
        }
        let (Some(known), Some(_)) =
            (self.records.all.get(&record).copied(), self.records.all.get(&owner))
        else {
            return DELETED;
        };
        let owned = self.owner_of(set, record).is_some();
        let members = self.records.sets[set].get(&owner).cloned().unwrap_or_default();
        let rank = |member: &u64| self.records.all[member].rank;
        let place = match (set, self.members[set]) {
            (0, _) => members.len(),
            (1, _) | (2, None) => 0,
            (2, Some(after)) => match members.iter().position(|member| *member == after) {
                Some(place) => place + 1,
                None => return SET_CLASH,
            },
            (3, _) => members.partition_point(|member| rank(member) < known.rank),
            _ => members.partition_point(|member| rank(member) > known.rank),
        };
        if owned {
            return IS_OWNED;
        }
        self.records.sets[set].entry(owner).or_default().insert(place, record);
        self.members[set] = Some(record);
        0
    }

    pub(crate) fn disconnect(&mut self, set: usize) -> i32 {
        let Some(owner) = self.owners[set] else { return NO_OWNER };
        let Some(member) = self.members[set] else { return NO_MEMBER };
        match self.owner_of(set, member) {
            None => return NOT_CONNECTED,
            Some(other) if other != owner => return SET_CLASH,
            Some(_) => {}
        }
        let next = self.take_out(set, member);
        self.record = Some(member);
        self.members[set] = next;
        if next.is_some() { 0 } else { END_OF_SET }
    }

    pub(crate) fn end(&mut self, set: usize, first: bool) -> i32 {
        let Some(owner) = self.owners[set] else { return NO_OWNER };
        let members = self.records.sets[set].get(&owner);
        let found = members.and_then(|all| if first { all.first() } else { all.last() }).copied();
        self.stand(set, found)
    }

    pub(crate) fn step(&mut self, set: usize, forward: bool) -> i32 {
        let Some(owner) = self.owners[set] else { return NO_OWNER };
        let Some(member) = self.members[set] else { return self.end(set, forward) };
        if self.owner_of(set, member) != Some(owner) {
            self.members[set] = None;
            return SET_CLASH;
        }
        let members = &self.records.sets[set][&owner];
        let at = members.iter().position(|other| *other == member).expect("it is owned");
        let next = if forward { at.checked_add(1) } else { at.checked_sub(1) };
        let found = next.and_then(|next| members.get(next)).copied();
        self.stand(set, found)
    }

    pub(crate) fn find_owner(&mut self, set: usize) -> i32 {
        let Some(record) = self.record else { return NO_RECORD };
        let status = self.current_member_set(set, record);
        if status == 0 {
            self.record = self.owners[set];
        }
        status
    }

    pub(crate) fn delete(&mut self, disconnect: bool) -> i32 {
        let Some(record) = self.record else { return NO_RECORD };
        for set in 0..SETS {
            let has = self.records.sets[set].get(&record).is_some_and(|all| !all.is_empty());
            let owned = self.owner_of(set, record).is_some();
            if disconnect {
                self.records.sets[set].remove(&record);
                if owned {
                    self.take_out(set, record);
                }
            } else if has {
                return HAS_MEMBERS;
            } else if owned {
                return IS_MEMBER;
            }
        }
        if self.records.all.remove(&record).is_none() {
            return DELETED;
        }
        if let Some((kind, at)) = &mut self.walk
            && *kind == kind_of(record)
        {
            *at = Some(record);
        }
        self.record = None;
        for (owner, member) in self.owners.iter_mut().zip(&mut self.members) {
            if *owner == Some(record) {
                (*owner, *member) = (None, None);
            }
            if *member == Some(record) {
                *member = None;
            }
        }
        0
    }

    pub(crate) fn key_find(&mut self, kind: usize, field: usize, value: i64) -> i32 {
        let found = self.in_order(kind, field).into_iter().find(|entry| entry.0 == value);
        self.keys[kind][field] = match found {
            Some((value, address)) => ModelPosition::At(value, address),
            None => ModelPosition::Between(value),
        };
        self.found(found.map(|entry| entry.1))
    }

    pub(crate) fn key_step(&mut self, kind: usize, field: usize, forward: bool) -> i32 {
        let all = self.in_order(kind, field);
        let found = match (self.keys[kind][field], forward) {
            (ModelPosition::Nowhere, true) => all.first(),
            (ModelPosition::Nowhere, false) => all.last(),
            (ModelPosition::At(value, at), true) => all.iter().find(|entry| **entry > (value, at)),
            (ModelPosition::At(value, at), false) => {
                all.iter().rfind(|entry| **entry < (value, at))
            }
            (ModelPosition::Between(value), true) => all.iter().find(|entry| entry.0 >= value),
            (ModelPosition::Between(value), false) => all.iter().rfind(|entry| entry.0 < value),
        };
        let found = found.copied();
        self.keys[kind][field] =
            found.map_or(ModelPosition::Nowhere, |entry| ModelPosition::At(entry.0, entry.1));
        self.found(found.map(|entry| entry.1))
    }

    pub(crate) fn walk(&mut self, kind: usize, what: u8) -> i32 {
        let (kind, from) = match (what, self.walk) {
            (0 | 1, _) => (kind, None),
            (_, None) => return NO_TYPE,
            (_, Some((kind, last))) => {
                (kind, self.record.filter(|record| kind_of(*record) == kind).or(last))
            }
        };
        let of_kind = self.records.all.iter().filter(|(_, known)| known.kind == kind);
        let mut addresses = of_kind.map(|(address, _)| *address);
        let found = match (what.is_multiple_of(2), from) {
            (true, None) => addresses.next(),
            (false, None) => addresses.next_back(),
            (true, Some(from)) => addresses.find(|address| *address > from),
            (false, Some(from)) => addresses.rfind(|address| *address < from),
        };
        match found {
            Some(_) => self.walk = Some((kind, found)),
            None => {
                let last = self.walk.filter(|(walked, _)| *walked == kind);
                self.walk = Some((kind, last.and_then(|last| last.1)));
            }
        }
        self.found(found)
    }

    pub(crate) fn record_write(&mut self, rank: i16) -> i32 {
        let Some(record) = self.record else { return NO_RECORD };
        let Some(known) = self.records.all.get_mut(&record) else { return DELETED };
        let moved = known.rank != rank;
        known.rank = rank;
        // It goes before those with the same rank, unless it has not changed.
        for set in [3, 4] {
            if moved && let Some(owner) = self.owner_of(set, record) {
                self.take_out(set, record);
                let ranks = &self.records.all;
                let members = self.records.sets[set].entry(owner).or_default();
                let place = members.partition_point(|member| match set {
                    3 => ranks[member].rank < rank,
                    _ => ranks[member].rank > rank,
                });
                members.insert(place, record);
            }
        }
        0
    }

    pub(crate) fn current_record_set(&mut self, address: u64) -> i32 {
        self.record = Some(address);
        0
    }

    pub(crate) fn current_member_set(&mut self, set: usize, address: u64) -> i32 {
        if kind_of(address) == 0 {
            return INVALID_OWNER;
        }
        let Some(owner) = self.owner_of(set, address) else { return NOT_CONNECTED };
        self.owners[set] = Some(owner);
        self.members[set] = Some(address);
        0
    }

    fn stand(&mut self, set: usize, found: Option<u64>) -> i32 {
        self.members[set] = found;
        match found {
            Some(_) => self.found(found),
            None => END_OF_SET,
        }
    }

    fn found(&mut self, found: Option<u64>) -> i32 {
        match found {
            Some(_) => {
                self.record = found;
                0
            }
            None => NOT_FOUND,
        }
    }

    fn owner_of(&self, set: usize, member: u64) -> Option<u64> {
        let owners = self.records.sets[set].iter();
        owners.filter(|(_, members)| members.contains(&member)).map(|(owner, _)| *owner).next()
    }

    /// Takes a member out of a set; the next one.
    fn take_out(&mut self, set: usize, member: u64) -> Option<u64> {
        let owner = self.owner_of(set, member)?;
        let members = self.records.sets[set].get_mut(&owner)?;
        let at = members.iter().position(|other| *other == member)?;
        members.remove(at);
        members.get(at).copied()
    }

    /// The values of a key with their records, as the key orders them.
    fn in_order(&self, kind: usize, field: usize) -> Vec<(i64, u64)> {
        let of_kind = self.records.all.iter().filter(|(_, known)| known.kind == kind);
        let value = |known: &Known| if field == 0 { known.id } else { i64::from(known.rank) };
        let mut all: Vec<_> = of_kind.map(|(address, known)| (value(known), *address)).collect();
        all.sort_unstable();
        all
    }
}

/// The record type that an address tells.
fn kind_of(address: u64) -> usize {
    (address >> 32) as usize - 1
}
