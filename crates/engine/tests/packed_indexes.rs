//! Indexes of frozen tables, whose entries of neighbouring rows are one word: they take a fraction
//! of what they took, and are indexes in every respect.
//!
//! The model of the tree packs at random moments; here stand the ways to it from outside: freezing,
//! loading an image, and every kind of change afterwards.

use remanent_engine::schema::{ColumnType, TableSchema, Value};
use remanent_engine::{Database, Options, ReadTransaction, Result, Table, WriteTransaction};

const ORDERS: u32 = 20_000;

struct World {
    db: Database,
    table: Table,
}

/// How many lines an order has.
fn lines(order: u32) -> i32 {
    1 + (order * 5 % 7) as i32
}

fn keys() -> Vec<(u32, i32)> {
    (0..ORDERS).flat_map(|order| (1..=lines(order)).map(move |line| (order, line))).collect()
}

impl World {
    fn new() -> Result<Self> {
        let db = Database::open(Options::new().budget(256 << 20))?;
        let schema = TableSchema::new("Lines")
            .column("order", ColumnType::U32)
            .column("line", ColumnType::I32)
            .column("price", ColumnType::U32)
            .primary_key(["order", "line"]);
        let world = Self { table: db.create_table(schema)?, db };
        world.db.write(|tx| {
            let rows = keys().into_iter().map(row);
            tx.insert_all_values(&world.table, rows).map(|_| ())
        })?;
        Ok(world)
    }

    fn load(image: &[u8]) -> Result<Self> {
        let db = Database::load(Options::new().budget(256 << 20), &mut &*image)?;
        Ok(Self { table: db.table("Lines")?, db })
    }

    fn price(&self, tx: &ReadTransaction<'_>, key: (u32, i32)) -> Result<Option<u32>> {
        let key = [Value::U32(key.0), Value::I32(key.1)];
        let row = tx.find(&self.table, self.table.index("primary")?, &key)?;
        let price = self.table.column("price")?;
        Ok(row.and_then(|row| row.get(price)))
    }

    /// The keys in order, by a cursor that goes forwards and, reversed, by one that goes back.
    fn keys(&self) -> Result<[Vec<(u32, i32)>; 2]> {
        let tx = self.db.begin_read()?;
        let (order, line) = (self.table.column("order")?, self.table.column("line")?);
        let mut cursor = tx.cursor(&self.table, self.table.index("primary")?)?;
        let mut both = [Vec::new(), Vec::new()];
        let mut next = cursor.first();
        while let Some(row) = next {
            both[0].push((row.get(order).unwrap_or(0), row.get(line).unwrap_or(0)));
            next = cursor.next();
        }
        let mut next = cursor.last();
        while let Some(row) = next {
            both[1].push((row.get(order).unwrap_or(0), row.get(line).unwrap_or(0)));
            next = cursor.previous();
        }
        both[1].reverse();
        Ok(both)
    }

    fn insert(&self, tx: &WriteTransaction<'_>, key: (u32, i32)) -> Result<()> {
        tx.insert_values(&self.table, &row(key)).map(|_| ())
    }

    fn delete(&self, tx: &WriteTransaction<'_>, key: (u32, i32)) -> Result<()> {
        let index = self.table.index("primary")?;
        let row = tx.find(&self.table, index, &[Value::U32(key.0), Value::I32(key.1)])?;
        tx.delete(&self.table, row.expect("it is there").id())
    }

    fn renumber(&self, tx: &WriteTransaction<'_>, key: (u32, i32), line: i32) -> Result<()> {
        let index = self.table.index("primary")?;
        let row = tx.find(&self.table, index, &[Value::U32(key.0), Value::I32(key.1)])?;
        let row = row.expect("it is there").id();
        tx.update_values(&self.table, row, &[(self.table.column("line")?, line.into())])
    }
}

fn row(key: (u32, i32)) -> [Option<Value<'static>>; 3] {
    [Some(key.0.into()), Some(key.1.into()), Some(Value::U32(price(key)))]
}

fn price(key: (u32, i32)) -> u32 {
    key.0 * 10 + key.1 as u32
}

fn check(world: &World, expected: &[(u32, i32)]) -> Result<()> {
    let [forwards, backwards] = world.keys()?;
    assert!(forwards == expected, "forwards");
    assert!(backwards == expected, "backwards");
    let tx = world.db.begin_read()?;
    for &key in expected.iter().step_by(17) {
        assert_eq!(world.price(&tx, key)?.map(|it| it / 10), Some(key.0), "{key:?}");
        assert_eq!(world.price(&tx, (key.0, 200))?, None);
        assert_eq!(world.price(&tx, (key.0, -key.1))?, None);
        assert_eq!(world.price(&tx, (key.0, key.1 << 16))?, None);
    }
    Ok(())
}

#[test]
fn entries_of_neighbours_take_little_and_are_changed_as_any() -> Result<()> {
    let world = World::new()?;
    let before = world.db.memory().indexes;
    world.db.freeze_all(&world.table)?;
    world.db.reclaim();
    let after = world.db.memory().indexes;
    assert!(after * 4 < before, "{before} bytes, then {after}");
    check(&world, &keys())?;
    // Some of each order go, in the middle too, and others come, or get another number.
    let mut expected: Vec<_> = keys();
    world.db.write(|tx| {
        for order in 0..1000 {
            for line in (1..=lines(order)).filter(|line| (order as i32 + line) % 3 == 0) {
                world.delete(tx, (order, line))?;
                expected.retain(|key| *key != (order, line));
            }
        }
        for order in 1000..2000 {
            world.insert(tx, (order, 9))?;
            world.renumber(tx, (order, 1), 300)?;
            expected.retain(|key| *key != (order, 1));
            expected.extend([(order, 9), (order, 300)]);
        }
        (ORDERS..ORDERS + 500).try_for_each(|order| {
            expected.push((order, 1));
            world.insert(tx, (order, 1))
        })
    })?;
    expected.sort_unstable();
    check(&world, &expected)?;
    let taken = world.db.write(|tx| world.insert(tx, (5000, 1)));
    assert!(taken.is_err(), "the key of a row is taken");
    world.db.reclaim();
    check(&world, &expected)?;
    // What is taken back leaves all as it was.
    let tx = world.db.begin_write()?;
    (3000..3100).try_for_each(|order| world.delete(&tx, (order, 1)))?;
    (3000..3100).try_for_each(|order| world.insert(&tx, (order, 8)))?;
    drop(tx);
    world.db.reclaim();
    check(&world, &expected)
}

#[test]
fn everything_can_go() -> Result<()> {
    let world = World::new()?;
    world.db.freeze_all(&world.table)?;
    let empty = Database::open(Options::new())?;
    for part in 0..3 {
        let of_part = keys().into_iter().filter(|key| (key.0 as i32 + key.1) % 3 == part);
        world.db.write(|tx| of_part.clone().try_for_each(|key| world.delete(tx, key)))?;
        world.db.reclaim();
    }
    check(&world, &[])?;
    world.db.write(|tx| keys().into_iter().try_for_each(|key| world.insert(tx, key)))?;
    check(&world, &keys())?;
    world.db.drop_table(&world.table)?;
    world.db.reclaim();
    assert_eq!(world.db.memory().indexes, empty.memory().indexes);
    Ok(())
}

#[test]
fn an_image_of_frozen_rows_is_loaded_with_small_indexes() -> Result<()> {
    let world = World::new()?;
    let before = world.db.memory().indexes;
    world.db.freeze_all(&world.table)?;
    let mut image = Vec::new();
    world.db.save(&mut image)?;
    let loaded = World::load(&image)?;
    assert!(loaded.db.memory().indexes * 4 < before);
    check(&loaded, &keys())?;
    loaded.db.write(|tx| {
        loaded.delete(tx, (77, 1))?;
        loaded.insert(tx, (77, 1))
    })?;
    check(&loaded, &keys())
}
