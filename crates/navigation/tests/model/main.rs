//! Random d_-style calls against a plain model: statuses, currency, and what is read.
//!
//! The model is lists: records by address, members by owner, and where a task stands. Every call is
//! made on both; they have to give the same status and to stand in the same places. Transactions
//! end, abort and are left out (mode `o`); currency outlives all of them, what it stands on does
//! not. After each run the database is closed, opened by another task, and compared once more.

mod expected;

use std::sync::atomic::{AtomicU64, Ordering};

use expected::{Expected, KINDS, SETS};
use proptest::prelude::*;
use remanent_navigation::{Address, CURR_DB, Declared, Outcome, Task, register};

const SCHEMA: &str = "database model {
    record Owner { unique key long id; key short rank; }
    record A { unique key long id; key short rank; }
    record B { unique key long id; key short rank; }
    set AtEnd { order last; owner Owner; member A; member B; }
    set AtStart { order first; owner Owner; member A; member B; }
    set Behind { order next; owner Owner; member A; member B; }
    set Up { order ascending; owner Owner; member A by rank; member B by rank; }
    set Down { order descending; owner Owner; member A by rank; member B by rank; }
}";

/// One call: which, and numbers to choose from.
type Dice = (u8, u8, u8);

struct World {
    task: Task,
    expected: Expected,
    next_id: i64,
    is_shared: bool,
}

impl World {
    fn locked(&mut self) {
        if self.is_shared && self.expected.saved.is_none() {
            self.task.transaction_begin("t").expect("there is none");
            for kind in 0..KINDS {
                self.task.record_lock(10_000 + kind as i32, "w", CURR_DB).expect("nobody else");
            }
            self.expected.saved = Some(self.expected.records.clone());
        }
    }

    fn turn(&mut self, (what, which, value): Dice) {
        self.locked();
        let set = i32::from(which) % SETS as i32;
        let (kind, constant) = (usize::from(which) % KINDS, 20_000 + set);
        let (set, rank) = (set as usize, i16::from(value % 4));
        let task = &mut self.task;
        let expected = &mut self.expected;
        match what % 26 {
            0..=3 => {
                self.next_id += 1;
                // Now and then an id that is there already.
                let id = if value.is_multiple_of(7) { i64::from(which % 8) } else { self.next_id };
                let got = task.fill_new(10_000 + kind as i32, &record(id, rank), CURR_DB);
                let address = task.current_record(CURR_DB).ok();
                compare("fill_new", got, expected.fill_new(kind, id, rank, address));
            }
            4..=16 => self.turn_set(what % 26, set, constant),
            17 => compare("delete", task.delete(CURR_DB), expected.delete(false)),
            18 => {
                let got = task.disconnect_and_delete(CURR_DB);
                compare("disdel", got, expected.delete(true));
            }
            19 => {
                let id = i64::from(value) % (self.next_id + 1);
                let field = kind as i64 * 1000;
                let got = task.key_find(field, Some(&id.to_le_bytes()), CURR_DB);
                compare("key_find", got, expected.key_find(kind, 0, id));
            }
            20 => {
                let field = kind as i64 * 1000 + 1;
                let got = task.key_find(field, Some(&rank.to_le_bytes()), CURR_DB);
                compare("key_find", got, expected.key_find(kind, 1, i64::from(rank)));
            }
            21 | 22 => {
                let (place, forward) = (usize::from(value % 2), value & 2 == 0);
                let field = kind as i64 * 1000 + place as i64;
                let got = match forward {
                    true => task.key_next(field, CURR_DB),
                    false => task.key_previous(field, CURR_DB),
                };
                compare("key_step", got, expected.key_step(kind, place, forward));
            }
            23 => {
                let got = match value % 4 {
                    0 => task.record_first(10_000 + kind as i32, CURR_DB),
                    1 => task.record_last(10_000 + kind as i32, CURR_DB),
                    2 => task.record_next(CURR_DB),
                    _ => task.record_previous(CURR_DB),
                };
                compare("walk", got, expected.walk(kind, value % 4));
            }
            24 => {
                let id = expected.current_id().unwrap_or_default();
                let got = task.record_write(&record(id, rank), CURR_DB);
                compare("record_write", got, expected.record_write(rank));
            }
            _ => self.set_currency(usize::from(which), set),
        }
        self.check();
    }

    fn turn_set(&mut self, what: u8, set: usize, constant: i32) {
        let (task, expected) = (&mut self.task, &mut self.expected);
        match what {
            4 | 5 => {
                compare("set_owner", task.set_owner(constant, CURR_DB), expected.set_owner(set));
            }
            6..=9 => compare("connect", task.connect(constant, CURR_DB), expected.connect(set)),
            10 => {
                let got = task.disconnect(constant, CURR_DB);
                compare("disconnect", got, expected.disconnect(set));
            }
            11 => compare("first", task.find_first(constant, CURR_DB), expected.end(set, true)),
            12 => compare("last", task.find_last(constant, CURR_DB), expected.end(set, false)),
            13 | 14 => compare("next", task.find_next(constant, CURR_DB), expected.step(set, true)),
            15 => {
                let got = task.find_previous(constant, CURR_DB);
                compare("previous", got, expected.step(set, false));
            }
            _ => {
                let got = task.find_owner(constant, CURR_DB);
                compare("find_owner", got, expected.find_owner(set));
            }
        }
    }

    fn set_currency(&mut self, which: usize, set: usize) {
        let known: Vec<u64> = self.expected.records.all.keys().copied().collect();
        if known.is_empty() {
            return;
        }
        let address = known[which / SETS % known.len()];
        let to = Address::from_number(address);
        if which.is_multiple_of(2) {
            let got = self.task.current_record_set(to, CURR_DB);
            compare("crset", got, self.expected.current_record_set(address));
        } else {
            let got = self.task.current_member_set(20_000 + set as i32, to, CURR_DB);
            compare("csmset", got, self.expected.current_member_set(set, address));
        }
    }

    /// Both stand in the same places, and the current record reads as it should.
    fn check(&mut self) {
        let number = |got: Outcome<Address>| got.ok().map(Address::number);
        let expected = &self.expected;
        assert_eq!(number(self.task.current_record(CURR_DB)), expected.record, "record");
        for set in 0..SETS {
            let constant = 20_000 + set as i32;
            let owner = number(self.task.current_owner(constant, CURR_DB));
            assert_eq!(owner, expected.owners[set], "owner of set {set}");
            let member = number(self.task.current_member(constant, CURR_DB));
            assert_eq!(member, expected.members[set], "member of set {set}");
        }
        let mut bytes = [0xaa; 16];
        let got = self.task.record_read(&mut bytes, CURR_DB);
        match expected.record.map(|address| expected.records.all.get(&address)) {
            None => compare("record_read", got, -7),
            Some(None) => compare("record_read", got, 6),
            Some(Some(known)) => {
                compare("record_read", got, 0);
                assert_eq!(bytes[..10], record(known.id, known.rank)[..10]);
            }
        }
    }

    /// Every owner's members, forward, whatever is current.
    fn check_all(&mut self) {
        for (address, known) in self.expected.records.all.clone() {
            let address = Address::from_number(address);
            self.task.current_record_set(address, CURR_DB).expect("an address");
            let mut bytes = [0; 16];
            self.task.record_read(&mut bytes, CURR_DB).expect("it is there");
            assert_eq!(bytes[..10], record(known.id, known.rank)[..10]);
        }
        for (set, owners) in self.expected.records.sets.clone().iter().enumerate() {
            let constant = 20_000 + set as i32;
            for (owner, members) in owners {
                let owner = Address::from_number(*owner);
                self.task.current_owner_set(constant, owner, CURR_DB).expect("an owner");
                let mut seen = Vec::new();
                let mut step = self.task.find_first(constant, CURR_DB);
                while step.is_ok() {
                    let member = self.task.current_member(constant, CURR_DB).expect("it was found");
                    seen.push(member.number());
                    step = self.task.find_next(constant, CURR_DB);
                }
                assert_eq!(&seen, members, "set {set}");
                let count = self.task.member_count(constant, CURR_DB).expect("an owner");
                assert_eq!(count, members.len() as u64);
            }
        }
    }

    fn end(&mut self, commit: bool) {
        let Some(saved) = self.expected.saved.take() else { return };
        if commit {
            self.task.transaction_end().expect("nobody else");
        } else {
            self.task.transaction_abort().expect("there is one");
            self.expected.records = saved;
        }
    }
}

fn record(id: i64, rank: i16) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&id.to_le_bytes());
    bytes[8..10].copy_from_slice(&rank.to_le_bytes());
    bytes
}

fn compare(call: &str, got: Outcome, expected: i32) {
    let got = got.map_or_else(|fault| fault.status.code(), |()| 0);
    assert_eq!(got, expected, "{call}");
}

fn run(is_shared: bool, transactions: &[(Vec<Dice>, bool)]) {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let declared = Declared { name: "model".into(), text: SCHEMA.into(), records: Vec::new() };
    register(declared);
    let folder = tempfile::tempdir().expect("a folder");
    let name = format!("{}/model", folder.path().display());
    let mode = if is_shared { "s" } else { "o" };
    let open = || {
        let mut task = Task::new();
        task.user_id(&format!("user{}", NUMBER.fetch_add(1, Ordering::Relaxed))).expect("an id");
        task.open(&name, mode).expect("it opens");
        task
    };
    let mut world = World { task: open(), expected: Expected::new(), next_id: 0, is_shared };
    for (calls, commit) in transactions {
        calls.iter().for_each(|dice| world.turn(*dice));
        world.end(*commit);
        world.check();
    }
    world.check_all();
    world.task.close().expect("it can be written");
    world.task = open();
    world.check_all();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn calls_do_what_the_model_does(
        is_shared in any::<bool>(),
        transactions in proptest::collection::vec(
            (proptest::collection::vec(any::<Dice>(), 1..60), any::<bool>()), 1..6),
    ) {
        run(is_shared, &transactions);
    }
}
