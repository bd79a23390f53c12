//! Network sets against a plain model, under rollback, for old snapshots, and between threads.
//!
//! The model is a list of members for each owner. Random statements run on both; after each the
//! database must say what the model says, a statement that fails must have changed nothing, and
//! readers that began earlier must go on seeing the model of then.

use proptest::prelude::*;
use remanent_engine::schema::{ColumnType, SetOrder, SetSchema, TableSchema, Value};
use remanent_engine::{
    ColumnHandle, Database, ErrorKind, Isolation, Member, Options, ReadTransaction, Result, RowId,
    Set, Table, TransactionOptions, WriteTransaction,
};

const ORDERS: [SetOrder; 5] =
    [SetOrder::First, SetOrder::Last, SetOrder::Next, SetOrder::Ascending, SetOrder::Descending];

struct World {
    db: Database,
    owners: Table,
    kinds: [Table; 2],
    sorts: [ColumnHandle; 2],
    set: Set,
}

/// A member in the model: which table, the row, what it is sorted by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Known {
    kind: usize,
    row: RowId,
    sort: i32,
}

/// What is known: rows that are there, and for each owner its members in order.
#[derive(Clone, Default, Debug)]
struct Model {
    loose: Vec<Known>,
    owners: Vec<(RowId, Vec<Known>)>,
}

impl World {
    fn new(order: SetOrder) -> World {
        let db = Database::open(Options::new()).expect("memory");
        let owners = TableSchema::new("Owner").column("number", ColumnType::I32);
        let owners = db.create_table(owners).expect("a table");
        let kinds = ["A", "B"].map(|name| {
            let schema = TableSchema::new(name)
                .column("text", ColumnType::STRING)
                .column("sort", ColumnType::I32);
            db.create_table(schema).expect("a table")
        });
        let sorts = [0, 1].map(|kind| kinds[kind].column("sort").expect("a column"));
        let schema = SetSchema::new("S", "Owner", order);
        let schema = match order.is_sorted() {
            true => schema.member_by("A", ["sort"]).member_by("B", ["sort"]),
            false => schema.member("A").member("B"),
        };
        let set = db.create_set(schema).expect("a set");
        World { db, owners, kinds, sorts, set }
    }

    fn check(&self, tx: &ReadTransaction<'_>, model: &Model) {
        for (owner, members) in &model.owners {
            let expected: Vec<_> = members.iter().map(|member| (member.kind, member.row)).collect();
            assert_eq!(self.walk(tx, *owner, true), expected);
            let mut backward = self.walk(tx, *owner, false);
            backward.reverse();
            assert_eq!(backward, expected);
            for member in members {
                let table = &self.kinds[member.kind];
                assert_eq!(
                    tx.owner_of(&self.set, table, member.row).expect("a read"),
                    Some(*owner)
                );
            }
        }
        for member in &model.loose {
            let table = &self.kinds[member.kind];
            assert!(tx.siblings(&self.set, table, member.row).expect("a read").is_none());
        }
    }

    fn walk(&self, tx: &ReadTransaction<'_>, owner: RowId, forward: bool) -> Vec<(usize, RowId)> {
        let mut members = tx.members(&self.set, owner).expect("members");
        let mut seen = Vec::new();
        let mut step = if forward { members.first() } else { members.last() };
        while let Some(member) = step.expect("a read") {
            let kind = self.kinds.iter().position(|kind| kind.name() == member.table().name());
            seen.push((kind.expect("a member table"), member.row().id()));
            step = if forward { members.next() } else { members.previous() };
        }
        seen
    }
}

impl Model {
    fn place(members: &[Known], order: SetOrder, new: Known, after: Option<usize>) -> usize {
        match order {
            SetOrder::First => 0,
            SetOrder::Last => members.len(),
            SetOrder::Next => after.map_or(0, |after| after + 1),
            // A new member goes before those with equal columns.
            SetOrder::Ascending => members.partition_point(|member| member.sort < new.sort),
            SetOrder::Descending => members.partition_point(|member| member.sort > new.sort),
        }
    }
}

/// One statement on both, drawn from three numbers.
fn statement(world: &World, tx: &WriteTransaction<'_>, model: &mut Model, dice: (u8, u16, i8)) {
    let (what, which, sort) = (dice.0 % 10, usize::from(dice.1), i32::from(dice.2 % 4));
    let order = world.set.schema().order;
    let owner = (!model.owners.is_empty()).then(|| which % model.owners.len());
    match (what, owner) {
        (0, _) | (_, None) => {
            let row = tx.insert_values(&world.owners, &[Some(Value::I32(1))]).expect("a row");
            model.owners.push((row, Vec::new()));
        }
        (1..=2, _) => {
            let kind = which % 2;
            let values = [Some("x".into()), Some(Value::I32(sort))];
            let row = tx.insert_values(&world.kinds[kind], &values).expect("a row");
            model.loose.push(Known { kind, row, sort });
        }
        (3..=5, Some(owner)) if !model.loose.is_empty() => {
            let new = model.loose.swap_remove(which / 7 % model.loose.len());
            let (owner, members) = &mut model.owners[owner];
            let after = (!members.is_empty() && which % 3 > 0).then(|| which / 5 % members.len());
            let behind = after.map(|after| (&world.kinds[members[after].kind], members[after].row));
            let member = (&world.kinds[new.kind], new.row);
            tx.connect_after(&world.set, *owner, member, behind).expect("a connection");
            let again = tx.connect(&world.set, *owner, member.0, member.1).unwrap_err();
            assert_eq!(again.kind(), ErrorKind::AlreadyMember);
            members.insert(Model::place(members, order, new, after), new);
        }
        (6..=9, Some(owner)) if !model.owners[owner].1.is_empty() => {
            change_member(world, tx, model, (what, owner, which / 3, sort));
        }
        (_, Some(owner)) => {
            let (row, members) = &model.owners[owner];
            if members.is_empty() {
                tx.delete(&world.owners, *row).expect("nobody's owner");
                model.owners.swap_remove(owner);
            }
        }
    }
}

fn change_member(
    world: &World,
    tx: &WriteTransaction<'_>,
    model: &mut Model,
    (what, owner, which, sort): (u8, usize, usize, i32),
) {
    let order = world.set.schema().order;
    let count = model.owners.len();
    let (owner_row, members) = &mut model.owners[owner];
    let place = which % members.len();
    let known = members[place];
    let table = &world.kinds[known.kind];
    match what {
        6 => {
            assert_eq!(tx.delete(table, known.row).unwrap_err().kind(), ErrorKind::IsMember);
            let error = tx.delete(&world.owners, *owner_row).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::HasMembers);
            tx.disconnect(&world.set, table, known.row).expect("a member");
            model.loose.push(members.remove(place));
        }
        7 => {
            tx.disconnect(&world.set, table, known.row).expect("a member");
            tx.delete(table, known.row).expect("nobody's member");
            members.remove(place);
        }
        8 if order != SetOrder::Next => {
            members.remove(place);
            let (target, members) = &mut model.owners[which % count];
            tx.reconnect(&world.set, *target, table, known.row).expect("a member");
            members.insert(Model::place(members, order, known, None), known);
        }
        _ => {
            let changes = [(world.sorts[known.kind], Value::I32(sort))];
            tx.update_values(table, known.row, &changes).expect("a row");
            let known = Known { sort, ..known };
            if order.is_sorted() && members[place].sort != sort {
                members.remove(place);
                members.insert(Model::place(members, order, known, None), known);
            } else {
                members[place] = known;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn sets_are_what_the_model_says(
        order in 0..ORDERS.len(),
        transactions in proptest::collection::vec(
            (proptest::collection::vec(any::<(u8, u16, i8)>(), 1..20), 0..4_u8), 1..12),
    ) {
        let world = World::new(ORDERS[order]);
        let mut model = Model::default();
        let mut readers = Vec::new();
        for (statements, end) in &transactions {
            readers.push((world.db.begin_read().expect("a slot"), model.clone()));
            let tx = world.db.begin_write().expect("a slot");
            let mut changed = model.clone();
            let half = statements.len() / 2;
            for dice in &statements[..half] {
                statement(&world, &tx, &mut changed, *dice);
            }
            let (savepoint, saved) = (tx.savepoint(), changed.clone());
            for dice in &statements[half..] {
                statement(&world, &tx, &mut changed, *dice);
                world.check(&tx, &changed);
            }
            if *end == 1 {
                tx.roll_back_to(savepoint).expect("a savepoint");
                changed = saved;
                world.check(&tx, &changed);
            }
            if *end == 2 {
                tx.roll_back();
            } else {
                tx.commit().expect("nobody else writes");
                model = changed;
            }
            let now = world.db.begin_read().expect("a slot");
            world.check(&now, &model);
            readers.iter().for_each(|(reader, then)| world.check(reader, then));
        }
    }
}

/// Members are put behind one member again and again, behind the newest one, and anywhere: the
/// numbers between run out over and over.
#[test]
fn there_is_always_room_behind_a_member() {
    const COUNT: usize = 3000;
    for pattern in 0..3 {
        let world = World::new(SetOrder::Next);
        let work = |tx: &WriteTransaction<'_>| {
            let insert = || tx.insert_values(&world.kinds[0], &[Some("x".into()), Some(0.into())]);
            let owner = tx.insert_values(&world.owners, &[Some(0.into())])?;
            let mut expected: Vec<RowId> = Vec::new();
            for number in 0..COUNT {
                let row = insert()?;
                let place = match pattern {
                    0 => usize::from(number > 0),
                    1 => expected.len().min(number / 2 + 1),
                    _ => number * 7919 % (expected.len() + 1),
                };
                let after = place.checked_sub(1).map(|after| (&world.kinds[0], expected[after]));
                tx.connect_after(&world.set, owner, (&world.kinds[0], row), after)?;
                expected.insert(place, row);
            }
            let seen: Vec<_> = world.walk(tx, owner, true).iter().map(|seen| seen.1).collect();
            assert_eq!(seen, expected, "pattern {pattern}");
            Ok(owner)
        };
        let owner = world.db.write(work).expect("a commit");
        let tx = world.db.begin_read().expect("a slot");
        let count = tx.members(&world.set, owner).expect("members").count().expect("a read");
        assert_eq!(count, COUNT as u64);
    }
}

/// At either end stays who steps on, though other owners' links come there in the index.
#[test]
fn steps_beyond_the_ends_stay_there() {
    let world = World::new(SetOrder::Last);
    let tx = world.db.begin_write().expect("a slot");
    let mut rows = Vec::new();
    let owners = [0; 3].map(|_| {
        let owner = tx.insert_values(&world.owners, &[Some(0.into())]).expect("a row");
        for _ in 0..2 {
            let values = [Some("x".into()), Some(0.into())];
            let row = tx.insert_values(&world.kinds[0], &values).expect("a row");
            tx.connect(&world.set, owner, &world.kinds[0], row).expect("a connection");
            rows.push(row);
        }
        owner
    });
    let mut members = tx.members(&world.set, owners[1]).expect("members");
    let id = |member: Result<Option<Member<'_>>>| member.expect("a read").map(|m| m.row().id());
    assert_eq!(id(members.next()), Some(rows[2]));
    assert_eq!(id(members.next()), Some(rows[3]));
    for _ in 0..3 {
        assert_eq!(id(members.next()), None);
    }
    assert_eq!(id(members.previous()), Some(rows[3]));
    assert_eq!(id(members.previous()), Some(rows[2]));
    for _ in 0..3 {
        assert_eq!(id(members.previous()), None);
    }
    assert_eq!(id(members.next()), Some(rows[2]));
    assert_eq!(id(members.last()), Some(rows[3]));
}

#[test]
fn wrong_tables_and_rows_are_refused() {
    let world = World::new(SetOrder::Last);
    let tx = world.db.begin_write().expect("a slot");
    let owner = tx.insert_values(&world.owners, &[Some(0.into())]).expect("a row");
    let row = tx.insert_values(&world.kinds[0], &[Some("x".into()), Some(0.into())]).expect("one");
    let nobody = RowId::from_number(77).expect("a number");
    let kind = |result: Result<(), remanent_engine::Error>| result.unwrap_err().kind();
    let a = &world.kinds[0];
    assert_eq!(
        kind(tx.connect(&world.set, owner, &world.owners, owner)),
        ErrorKind::SchemaMismatch
    );
    assert_eq!(kind(tx.connect(&world.set, nobody, a, row)), ErrorKind::RowNotFound);
    assert_eq!(kind(tx.connect(&world.set, owner, a, nobody)), ErrorKind::RowNotFound);
    assert_eq!(kind(tx.disconnect(&world.set, a, row)), ErrorKind::NotMember);
    assert_eq!(kind(tx.reconnect(&world.set, owner, a, row)), ErrorKind::NotMember);
    tx.connect(&world.set, owner, a, row).expect("a connection");
    // A reconnection that fails leaves the row where it was.
    assert_eq!(kind(tx.reconnect(&world.set, nobody, a, row)), ErrorKind::RowNotFound);
    assert_eq!(tx.owner_of(&world.set, a, row).expect("a read"), Some(owner));
    let relation = world.set.relation();
    let link = tx.scan(relation).expect("a scan").next().expect("a link").id();
    assert_eq!(kind(tx.delete(relation, link)), ErrorKind::RelationOfSet);
    let sort = world.db.create_set(SetSchema::new("T", "Owner", SetOrder::Ascending).member("A"));
    assert_eq!(sort.unwrap_err().kind(), ErrorKind::InvalidSchema);
    let mixed = SetSchema::new("T", "Owner", SetOrder::Ascending)
        .member_by("A", ["sort"])
        .member_by("B", ["text"]);
    assert_eq!(world.db.create_set(mixed).unwrap_err().kind(), ErrorKind::InvalidSchema);
    assert_eq!(world.db.set_names(), ["S"]);
    assert!(world.db.table("T").is_err(), "what could not be created is not there");
}

/// Two transactions that do not meet in any row: one deletes an owner, the other connects to it.
/// Whatever the isolation, one of them has to fail.
#[test]
fn no_link_outlives_its_owner_under_snapshot_isolation() {
    for delete_first in [true, false] {
        let world = World::new(SetOrder::Last);
        let (owner, row) = world
            .db
            .write(|tx| {
                let owner = tx.insert_values(&world.owners, &[Some(0.into())])?;
                let values = [Some("x".into()), Some(0.into())];
                Ok((owner, tx.insert_values(&world.kinds[0], &values)?))
            })
            .expect("a commit");
        let options = TransactionOptions::new().isolation(Isolation::Snapshot);
        let connects = world.db.begin_write_with(&options).expect("a slot");
        let deletes = world.db.begin_write_with(&options).expect("a slot");
        connects.connect(&world.set, owner, &world.kinds[0], row).expect("a connection");
        deletes.delete(&world.owners, owner).expect("no members yet");
        let (first, second) = if delete_first { (deletes, connects) } else { (connects, deletes) };
        first.commit().expect("nobody was before it");
        assert_eq!(second.commit().unwrap_err().kind(), ErrorKind::Conflict);
    }
}

#[test]
fn threads_that_connect_and_delete_leave_whole_sets() {
    let world = World::new(SetOrder::Ascending);
    let owners: Vec<RowId> = world
        .db
        .write(|tx| (0..4).map(|_| tx.insert_values(&world.owners, &[Some(0.into())])).collect())
        .expect("a commit");
    std::thread::scope(|scope| {
        for seed in 0..3_u32 {
            let (world, owners) = (&world, &owners);
            scope.spawn(move || {
                let options = TransactionOptions::new().isolation(match seed {
                    0 => Isolation::Snapshot,
                    _ => Isolation::Serializable,
                });
                let mut mine = Vec::new();
                for round in 0..400_u32 {
                    let owner = owners[((round * 7 + seed) % 4) as usize];
                    let sort = Value::I32((round % 5) as i32);
                    let row = world.db.write_with(&options, |tx| {
                        let row =
                            tx.insert_values(&world.kinds[1], &[Some("x".into()), Some(sort)])?;
                        tx.connect(&world.set, owner, &world.kinds[1], row)?;
                        Ok(row)
                    });
                    mine.push(row.expect("it is retried"));
                    if round % 3 == 2 {
                        let row = mine.swap_remove((round / 3) as usize % mine.len());
                        let ended = world.db.write_with(&options, |tx| {
                            tx.disconnect(&world.set, &world.kinds[1], row)?;
                            tx.delete(&world.kinds[1], row)
                        });
                        ended.expect("it is retried");
                    }
                }
            });
        }
    });
    let tx = world.db.begin_read().expect("a slot");
    let linked: usize = owners.iter().map(|owner| world.walk(&tx, *owner, true).len()).sum();
    assert_eq!(linked, 3 * (400 - 133));
    assert_eq!(tx.scan(&world.kinds[1]).expect("a scan").count(), linked);
    assert_eq!(tx.scan(world.set.relation()).expect("a scan").count(), linked);
}

/// Each puts a chain of its own behind the last member. Only the first link of a chain looks for
/// what comes behind it, and that has to speak for the whole chain.
#[test]
fn of_two_chains_behind_one_member_one_is_refused() {
    let world = World::new(SetOrder::Next);
    let table = &world.kinds[0];
    let insert =
        |tx: &WriteTransaction<'_>| tx.insert_values(table, &[Some("x".into()), Some(0.into())]);
    let chain = |tx: &WriteTransaction<'_>, owner, behind| -> Result<Vec<RowId>> {
        let mut rows = vec![behind];
        for _ in 0..10 {
            let row = insert(tx)?;
            let last = rows[rows.len() - 1];
            tx.connect_after(&world.set, owner, (table, row), Some((table, last)))?;
            rows.push(row);
        }
        Ok(rows)
    };
    let (owner, only) = world
        .db
        .write(|tx| {
            let owner = tx.insert_values(&world.owners, &[Some(0.into())])?;
            let only = insert(tx)?;
            tx.connect(&world.set, owner, table, only)?;
            Ok((owner, only))
        })
        .expect("a commit");
    let first = world.db.begin_write().expect("a slot");
    let second = world.db.begin_write().expect("a slot");
    let kept = chain(&first, owner, only).expect("a chain");
    chain(&second, owner, only).expect("a chain, for now");
    first.commit().expect("nobody was before it");
    assert_eq!(second.commit().unwrap_err().kind(), ErrorKind::Conflict);

    let tx = world.db.begin_write().expect("a slot");
    let before = tx.savepoint();
    let rows = chain(&tx, owner, kept[kept.len() - 1]).expect("a chain");
    tx.roll_back_to(before).expect("a savepoint of this transaction");
    let after_undone = chain(&tx, owner, rows[rows.len() - 1]);
    assert_eq!(after_undone.unwrap_err().kind(), ErrorKind::NotMember);
    let seen: Vec<_> = world.walk(&tx, owner, true).iter().map(|seen| seen.1).collect();
    assert_eq!(seen, kept);
}
