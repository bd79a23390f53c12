//! Files that earlier versions wrote, as they lie in `tests/formats`, are read.
//!
//! Each holds the cities below, the set that joins some of them, and what its maker did besides.
//! The folder of a database is copied before it is opened, for opening goes on writing. A version
//! that changes a format adds files and keeps these; `what_is_written_now` makes those of this one.

#[path = "durability/temp_folder.rs"]
mod temp_folder;

use std::path::{Path, PathBuf};

use remanent_engine::schema::*;
use remanent_engine::{Database, Durability, Options, Result};
use temp_folder::TempFolder;

const CITIES: [(&str, Option<u32>); 4] =
    [("Aalen", Some(68_000)), ("Bonn", Some(336_000)), ("Ulm", Some(126_000)), ("Weit", None)];

/// Text enough that it is written in symbols when it is frozen.
const REMARKS: usize = 400;

fn remark(n: usize) -> String {
    format!("remark {n} of {REMARKS}, that the weather in Ulm was fine, and in Zürich {}", n * n)
}

/// A number, of which all together take three bytes each.
fn far(n: usize) -> u32 {
    (n * n * 100) as u32
}

fn formats() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/formats")
}

fn options() -> Options {
    Options::new().budget(64 << 20).log_file_size(4096).durability(Durability::Buffered)
}

/// The cities by name and by people, and who is near Ulm.
fn check(db: &Database) -> Result<()> {
    let (table, set) = (db.table("City")?, db.set("Near")?);
    let (name, people) = (table.column("name")?, table.column("people")?);
    let tx = db.begin_read()?;
    for (city, count) in CITIES {
        let row = tx.find(&table, table.index("primary")?, &[city.into()])?.expect("it is there");
        assert_eq!(row.get::<u32>(people), count);
    }
    let mut cursor = tx.cursor(&table, table.index("by_people")?)?;
    assert_eq!(cursor.last().and_then(|row| row.str(name)), Some("Bonn"));
    let ulm = tx.find(&table, table.index("primary")?, &["Ulm".into()])?.expect("it is there");
    let mut members = tx.members(&set, ulm.id())?;
    let near = std::iter::from_fn(|| members.next().expect("it can be read"));
    let near: Vec<_> = near.filter_map(|member| member.row().str(name)).collect();
    assert_eq!(near, ["Aalen", "Bonn"]);
    assert_eq!(tx.scan(&table)?.count(), CITIES.len());
    Ok(())
}

#[test]
fn images() -> Result<()> {
    for version in 1..=5 {
        let name = format!("image-version-{version}");
        let mut file = std::fs::File::open(formats().join(name)).expect("it is committed");
        let db = Database::load(options(), &mut file)?;
        check(&db)?;
        if version >= 4 {
            let (table, tx) = (db.table("Remark")?, db.begin_read()?);
            let text = table.column("text")?;
            let texts: Vec<_> =
                tx.scan(&table)?.map(|row| row.str(text).map(str::to_owned)).collect();
            assert_eq!(texts, (0..REMARKS).map(|n| Some(remark(n))).collect::<Vec<_>>());
            if version >= 5 {
                let number = table.column("number")?;
                let numbers = tx.scan(&table)?.map(|row| row.get::<u32>(number));
                assert!(numbers.eq((0..REMARKS).map(|n| Some(far(n)))));
            }
        }
    }
    Ok(())
}

#[test]
fn folders() -> Result<()> {
    let versions = [1, 2].map(|version| format!("folder-version-{version}"));
    let names = versions.iter().flat_map(|name| [name.clone(), format!("{name}-checkpoint")]);
    for name in names {
        let place = TempFolder::new();
        place.folder();
        for entry in std::fs::read_dir(formats().join(name)).expect("it is committed") {
            let entry = entry.expect("it can be read");
            let copied = std::fs::copy(entry.path(), place.path().join(entry.file_name()));
            copied.expect("it can be copied");
        }
        let db = place.open(options());
        assert!(db.damage().is_none());
        check(&db)?;
        let tables = db.table_names();
        db.write(|tx| {
            tx.insert_values(&db.table("City")?, &[Some("Zell".into()), None]).map(|_| ())
        })?;
        drop(db);
        assert_eq!(place.open(options()).table_names(), tables);
    }
    Ok(())
}

/// Every kind of frame and operation: what ends as the cities was longer on its way there.
fn make(db: &Database, checkpoint: bool) -> Result<()> {
    let gone = db.create_table(TableSchema::new("Gone").column("a", ColumnType::I32))?;
    db.drop_table(&gone)?;
    let schema = TableSchema::new("City")
        .column("name", ColumnType::STRING)
        .nullable_column("people", ColumnType::U32)
        .primary_key(["name"]);
    let table = db.create_table(schema)?;
    let set = db.create_set(SetSchema::new("Near", "City", SetOrder::Last).member("City"))?;
    let people = table.column("people")?;
    let long = "a name that is taken back ".repeat(150);
    let rows = db.write(|tx| {
        let insert = |name: &str| tx.insert_values(&table, &[Some(name.into()), Some(1.into())]);
        let rows: Vec<_> = CITIES.iter().map(|(name, _)| insert(name)).collect::<Result<_>>()?;
        insert(&long[..900])?;
        (0..20).try_for_each(|n| insert(&format!("{n} {}", &long[..800])).map(|_| ()))?;
        Ok(rows)
    })?;
    if checkpoint {
        db.checkpoint()?;
    }
    db.write(|tx| {
        let others: Vec<_> =
            tx.scan(&table)?.map(|row| row.id()).filter(|id| !rows.contains(id)).collect();
        others.iter().try_for_each(|id| tx.delete(&table, *id))
    })?;
    let schema = TableSchema::new("Other").column("a", ColumnType::I32);
    let other = db.write(|tx| {
        let other = tx.create_table(schema.clone())?;
        tx.insert_values(&other, &[Some(1.into())])?;
        Ok(other)
    })?;
    db.write(|tx| {
        tx.drop_table(&other)?;
        let next = tx.create_table(schema.clone())?;
        tx.insert_values(&next, &[Some(2.into())])?;
        tx.drop_table(&next)?;
        tx.create_index(&table, IndexSchema::new("by_people", ["people"]))
    })?;
    let passing = db.create_index(&table, IndexSchema::new("passing", ["people"]))?;
    db.drop_index(&table, passing)?;
    for (row, (_, count)) in rows.iter().zip(CITIES) {
        let count = count.map_or(Value::Null, Value::U32);
        db.write(|tx| tx.update_values(&table, *row, &[(people, count)]))?;
    }
    db.write(|tx| {
        tx.connect(&set, rows[2], &table, rows[0])?;
        tx.connect(&set, rows[2], &table, rows[1])
    })
}

/// Makes columns of the cities and of remarks, and changes a city so that it changes nothing that
/// is checked.
fn freeze(db: &Database) -> Result<()> {
    let schema = TableSchema::new("Remark").column("text", ColumnType::STRING);
    let remarks = db.create_table(schema.column("number", ColumnType::U32))?;
    let texts: Vec<String> = (0..REMARKS).map(remark).collect();
    db.write(|tx| {
        let rows = texts.iter().enumerate();
        let rows = rows.map(|(n, text)| [Some(Value::from(text.as_str())), Some(far(n).into())]);
        tx.insert_all_values(&remarks, rows)
    })?;
    let report = db.freeze_all(&remarks)?;
    assert!(report.bytes_after < texts.iter().map(|text| text.len() as u64).sum());
    let table = db.table("City")?;
    db.freeze_all(&table)?;
    db.write(|tx| {
        let ulm = tx.find(&table, table.index("primary")?, &["Ulm".into()])?.expect("it is there");
        tx.update_values(&table, ulm.id(), &[(table.column("people")?, Value::U32(126_000))])
    })
}

/// With `REMANENT_WRITE_FORMATS` in its environment this writes the files of this version into the
/// source tree; else what it writes is read again.
#[test]
fn what_is_written_now() -> Result<()> {
    let anew = std::env::var_os("REMANENT_WRITE_FORMATS").is_some();
    for (name, checkpoint) in [("folder-version-2", false), ("folder-version-2-checkpoint", true)] {
        let place = TempFolder::new();
        let path = if anew { formats().join(name) } else { place.path().to_owned() };
        if anew {
            let _ = std::fs::remove_dir_all(&path);
        }
        let db = Database::open_at(&path, options().log_buffer_size(4096))?;
        make(&db, checkpoint)?;
        check(&db)?;
        if anew {
            let image = std::fs::File::create(formats().join("image-version-5"));
            freeze(&db)?;
            db.save(&mut image.expect("it can be made"))?;
        }
        drop(db);
        check(&Database::open_at(&path, options())?)?;
    }
    Ok(())
}
