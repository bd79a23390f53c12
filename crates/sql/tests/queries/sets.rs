//! Network sets as relations: rows of the set's table tell owners and members by their numbers.

use std::sync::Arc;

use remanent_engine::schema::{ColumnType, SetOrder, SetSchema, TableSchema, Value};
use remanent_engine::{Database, Options};
use remanent_sql::{Datum, SqlDatabase};

/// Two offices with three people, of whom one is in neither.
fn staff() -> Arc<SqlDatabase> {
    let engine = Database::open(Options::new()).expect("a database");
    let office = TableSchema::new("office").column("city", ColumnType::STRING);
    let person = TableSchema::new("person").column("name", ColumnType::STRING);
    let office = engine.create_table(office).expect("a table");
    let person = engine.create_table(person).expect("a table");
    let set = SetSchema::new("staff", "office", SetOrder::Last).member("person");
    let set = engine.create_set(set).expect("a set");
    engine
        .write(|tx| {
            let bonn = tx.insert_values(&office, &[Some(Value::from("Bonn"))])?;
            let ulm = tx.insert_values(&office, &[Some(Value::from("Ulm"))])?;
            for (name, owner) in [("ann", Some(ulm)), ("bob", Some(bonn)), ("cid", Some(ulm))] {
                let row = tx.insert_values(&person, &[Some(Value::from(name))])?;
                if let Some(owner) = owner {
                    tx.connect(&set, owner, &person, row)?;
                }
            }
            tx.insert_values(&person, &[Some(Value::from("dan"))])?;
            Ok(())
        })
        .expect("rows");
    SqlDatabase::new(Arc::new(engine)).expect("SQL over the same rows")
}

#[test]
fn owners_and_members_are_joined_over_their_set() {
    let db = staff();
    let mut session = db.session();
    let query = "select o.city, p.name from staff s join office o on o.row_id = s.owner \
                 join person p on p.row_id = s.member order by o.city, s.place";
    let expected = [["Bonn", "bob"], ["Ulm", "ann"], ["Ulm", "cid"]];
    let expected = expected.map(|row| row.map(Datum::from).to_vec());
    assert_eq!(session.query(query, &[]).expect("rows").rows, expected);
    let free = "select name from person where row_id not in (select member from staff)";
    assert_eq!(session.query(free, &[]).expect("rows").rows, [[Datum::from("dan")]]);
}

#[test]
fn other_statements_do_not_see_the_numbers_of_rows() {
    let db = staff();
    let mut session = db.session();
    let rows = session.query("select * from office", &[]).expect("rows");
    assert_eq!(rows.columns.len(), 1);
    let error = session.query("insert into staff values (1, 1, 0, 1)", &[]).expect_err("a set");
    assert!(error.to_string().contains("set"), "{error}");
}
