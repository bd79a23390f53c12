//! Images: what is loaded is what was saved, whatever happens to the stream.
//!
//! A database with tables, sets, holes among its row ids and an index made late is saved while it
//! changes, loaded, and compared row by row. Then the image is cut short at every length and has
//! every byte changed, and none of these may load or panic.

use remanent_engine::schema::{ColumnType, IndexSchema, SetOrder, SetSchema, TableSchema, Value};
use remanent_engine::{Database, ErrorKind, Find, Options, Result, RowId, Table};

fn world(rows: u32) -> Result<Database> {
    let db = Database::open(Options::new())?;
    let orders = TableSchema::new("Order").column("id", ColumnType::U32).primary_key(["id"]);
    let orders = db.create_table(orders)?;
    let lines = TableSchema::new("Line")
        .column("text", ColumnType::STRING)
        .nullable_column("note", ColumnType::BLOB)
        .column("rank", ColumnType::I32);
    let lines = db.create_table(lines)?;
    let gone = db.create_table(TableSchema::new("Gone").column("a", ColumnType::U8))?;
    let set = SetSchema::new("Lines", "Order", SetOrder::Ascending).member_by("Line", ["rank"]);
    let set = db.create_set(set)?;
    db.drop_table(&gone)?;
    db.write(|tx| {
        for id in 0..rows {
            let order = tx.insert_values(&orders, &[Some(Value::U32(id))])?;
            for rank in [id as i32 % 7, id as i32 % 3] {
                let text = "x".repeat(rank as usize * 50);
                let values = [Some(text.as_str().into()), None, Some(Value::I32(rank))];
                tx.connect(&set, order, &lines, tx.insert_values(&lines, &values)?)?;
            }
        }
        Ok(())
    })?;
    db.write(|tx| {
        for row in tx.scan(&lines)?.filter(|row| row.id().number() % 5 == 1) {
            tx.disconnect(&set, &lines, row.id())?;
            tx.delete(&lines, row.id())?;
        }
        Ok(())
    })?;
    db.create_index(&lines, IndexSchema::new("rank", ["rank"]))?;
    Ok(db)
}

fn dump(db: &Database) -> Result<Vec<String>> {
    let tx = db.begin_read()?;
    let mut lines = Vec::new();
    for name in db.table_names() {
        let table = db.table(&name)?;
        let indexes: Vec<&str> = table.indexes().map(|(name, _)| name).collect();
        lines.push(format!("{name} {:?} {indexes:?}", table.schema().columns));
        lines.extend(tx.scan(&table)?.map(|row| format!("{:?} {row:?}", row.id())));
    }
    for name in db.set_names() {
        let set = db.set(&name)?;
        for owner in tx.scan(set.owner())? {
            let mut members = tx.members(&set, owner.id())?;
            let mut step = members.first()?;
            while let Some(member) = step {
                lines.push(format!("{:?} owns {:?}", owner.id(), member.row().id()));
                step = members.next()?;
            }
        }
    }
    Ok(lines)
}

fn image(db: &Database) -> Result<Vec<u8>> {
    let mut image = Vec::new();
    db.save(&mut image)?;
    Ok(image)
}

fn load(image: &[u8]) -> Result<Database> {
    Database::load(Options::new(), &mut { image })
}

#[test]
fn what_is_loaded_is_what_was_saved() -> Result<()> {
    let db = world(3000)?;
    let copy = load(&image(&db)?)?;
    assert_eq!(dump(&copy)?, dump(&db)?);
    // It goes on like the original: unique keys, sets, free row ids.
    let (orders, lines) = (copy.table("Order")?, copy.table("Line")?);
    let twice = copy.write(|tx| tx.insert_values(&orders, &[Some(Value::U32(7))]));
    assert_eq!(twice.unwrap_err().kind(), ErrorKind::DuplicateKey);
    let set = copy.set("Lines")?;
    copy.write(|tx| {
        let primary = orders.index("primary")?;
        let order = tx.find(&orders, primary, &[Value::U32(7)])?.expect("it was saved").id();
        let new = tx.insert_values(&lines, &[Some("".into()), None, Some(Value::I32(0))])?;
        assert_eq!(new, RowId::from_number(1).expect("an id"), "a hole is used again");
        tx.connect(&set, order, &lines, new)?;
        assert_eq!(tx.members(&set, order)?.first()?.map(|member| member.row().id()), Some(new));
        let rank = lines.index("rank")?;
        let mut cursor = tx.cursor(&lines, rank)?;
        assert!(cursor.find(Find::Equal, &[Value::I32(3)])?.is_some());
        Ok(())
    })
}

#[test]
fn an_empty_database_is_an_image_too() -> Result<()> {
    let db = Database::open(Options::new())?;
    assert_eq!(dump(&load(&image(&db)?)?)?, dump(&db)?);
    Ok(())
}

#[test]
fn an_image_is_of_one_moment() -> Result<()> {
    let db = Database::open(Options::new())?;
    let schema = TableSchema::new("T").column("a", ColumnType::I64);
    let table: Table = db.create_table(schema)?;
    let a = table.column("a")?;
    let rows: Vec<RowId> = (0..500)
        .map(|_| db.write(|tx| tx.insert_values(&table, &[Some(Value::I64(0))])))
        .collect::<Result<_>>()?;
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Each commit gives all rows one number.
            for number in 1..200_i64 {
                let given = db.write(|tx| {
                    rows.iter().try_for_each(|row| {
                        tx.update_values(&table, *row, &[(a, Value::I64(number))])
                    })
                });
                given.expect("nobody else writes");
            }
            done.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        let mut images = 0;
        while !done.load(std::sync::atomic::Ordering::Relaxed) || images == 0 {
            let copy = load(&image(&db).expect("an image")).expect("it is whole");
            let table = copy.table("T").expect("it was saved");
            let tx = copy.begin_read().expect("a slot");
            let a = table.column("a").expect("a column");
            let numbers: std::collections::BTreeSet<_> =
                tx.scan(&table).expect("a scan").map(|row| row.get::<i64>(a)).collect();
            assert_eq!(numbers.len(), 1, "{numbers:?}");
            images += 1;
        }
    });
    Ok(())
}

#[test]
fn no_damage_goes_unnoticed() -> Result<()> {
    let image = image(&world(6)?)?;
    for length in 0..image.len() {
        let error = load(&image[..length]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DamagedImage, "cut at {length}");
    }
    for at in 0..image.len() {
        let mut changed = image.clone();
        changed[at] ^= 0x55;
        let error = load(&changed).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DamagedImage, "changed at {at}");
    }
    Ok(())
}

#[test]
fn a_database_that_is_too_small_says_so() -> Result<()> {
    let image = image(&world(3000)?)?;
    let small = Options::new().budget(256 << 10);
    let error = Database::load(small, &mut image.as_slice()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BudgetReached);
    Ok(())
}

/// A table that has grown, shrunk, or has rows already.
#[test]
fn an_image_is_loaded_into_a_later_schema() -> Result<()> {
    let db = world(200)?;
    let mut image = Vec::new();
    db.save(&mut image)?;
    let line = || {
        TableSchema::new("Line")
            .column("rank", ColumnType::I32)
            .column("kind", ColumnType::U8)
            .default(7_u8)
            .column("text", ColumnType::STRING)
            .nullable_column("note", ColumnType::BLOB)
            .nullable_column("more", ColumnType::STRING)
            .index(IndexSchema::new("by_text", ["text", "rank"]))
    };
    let later = Database::open(Options::new())?;
    let lines = later.create_table(line())?;
    later.load_into(&mut image.as_slice())?;
    let (rank, text, kind) = (lines.column("rank")?, lines.column("text")?, lines.column("kind")?);
    let (old, tx, now) = (db.table("Line")?, db.begin_read()?, later.begin_read()?);
    let mut count = 0;
    for row in tx.scan(&old)? {
        let same = now.row(&lines, row.id())?.expect("it was loaded");
        assert_eq!(same.get::<i32>(rank), row.get(old.column("rank")?));
        assert_eq!(same.str(text), row.str(old.column("text")?));
        assert_eq!(same.get::<u8>(kind), Some(7));
        assert!(same.is_null(lines.column("more")?));
        count += 1;
    }
    assert_eq!(now.scan(&lines)?.count(), count);
    let set = later.set("Lines")?;
    let orders = later.table("Order")?;
    let linked: usize = now
        .scan(&orders)?
        .map(|order| now.members(&set, order.id()).and_then(|members| members.count()))
        .sum::<Result<u64>>()? as usize;
    assert_eq!(linked, count);
    let mut cursor = now.cursor(&lines, lines.index("by_text")?)?;
    let mut entries = usize::from(cursor.first().is_some());
    while entries > 0 && cursor.next().is_some() {
        entries += 1;
    }
    assert_eq!(entries, count);

    let into = |schema: TableSchema| {
        let db = Database::open(Options::new())?;
        db.create_table(schema)?;
        db.load_into(&mut image.as_slice())
    };
    let fails = |schema, kind| assert_eq!(into(schema).map_err(|error| error.kind()), Err(kind));
    let without = TableSchema::new("Line").column("rank", ColumnType::I32);
    fails(without, ErrorKind::SchemaMismatch);
    fails(line().column("must", ColumnType::U8), ErrorKind::SchemaMismatch);
    let error = later.load_into(&mut image.as_slice()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TableExists);
    Ok(())
}
