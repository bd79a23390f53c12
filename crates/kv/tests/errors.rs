//! Each way in which a call can be refused, and that it then has changed nothing.

use remanent_engine::schema::{ColumnType, TableSchema};
use remanent_engine::{Database, ErrorKind, Options, Result};
use remanent_kv::{
    Environment, KvDatabase, KvOptions, MAX_PLAIN_KEY_LEN, Sequence, SequenceOptions,
};

fn environment() -> Environment {
    Environment::open(Options::new().budget(16 << 20)).unwrap()
}

fn kind<T>(result: Result<T>) -> ErrorKind {
    result.err().expect("it is to be refused").kind()
}

fn records(environment: &Environment, database: &KvDatabase) -> usize {
    environment.read(|tx| Ok(database.bulk(tx)?.count())).unwrap()
}

#[test]
fn names_are_taken_unknown_or_of_other_tables() {
    let environment = environment();
    environment.create("d", KvOptions::ordered()).unwrap();
    assert_eq!(kind(environment.create("d", KvOptions::hashed())), ErrorKind::TableExists);
    assert_eq!(kind(environment.open_database("e")), ErrorKind::UnknownTable);
    assert_eq!(kind(environment.remove("e")), ErrorKind::UnknownTable);
    assert_eq!(kind(environment.rename("e", "f")), ErrorKind::UnknownTable);
    let other = TableSchema::new("t").column("key", ColumnType::BLOB);
    environment.database().create_table(other).unwrap();
    assert_eq!(kind(environment.open_database("t")), ErrorKind::SchemaMismatch);
    assert_eq!(kind(environment.rename("d", "t")), ErrorKind::TableExists);
    let other = environment.open_or_create("d", KvOptions::hashed());
    assert_eq!(kind(other), ErrorKind::SchemaMismatch);
    assert_eq!(environment.names(), ["d"]);
}

#[test]
fn a_removed_database_is_gone_for_its_handles_and_its_name_is_free() {
    let environment = environment();
    let old = environment.create("d", KvOptions::ordered()).unwrap();
    old.auto_commit().put(b"k", b"old").unwrap();
    environment.remove("d").unwrap();
    assert_eq!(kind(old.auto_commit().get(b"k")), ErrorKind::UnknownTable);
    let new = environment.create("d", KvOptions::hashed()).unwrap();
    assert_eq!(new.auto_commit().get(b"k").unwrap(), None);
    assert_eq!(kind(old.auto_commit().put(b"k", b"v")), ErrorKind::UnknownTable);
}

#[test]
fn a_renamed_database_has_its_records_and_its_options() {
    let environment = environment();
    for options in [KvOptions::hashed(), KvOptions::ordered().with_duplicates()] {
        let old = environment.create("old", options).unwrap();
        for number in 0..1000_u32 {
            old.auto_commit().put(b"k", &number.to_be_bytes()).unwrap();
        }
        let before = records(&environment, &old);
        let new = environment.rename("old", "new").unwrap();
        assert_eq!((new.name(), new.options()), ("new", options));
        assert_eq!(records(&environment, &new), before);
        assert_eq!(kind(old.auto_commit().get(b"k")), ErrorKind::UnknownTable);
        environment.remove("new").unwrap();
    }
}

#[test]
fn keys_have_a_greatest_length_and_values_one_far_beyond() {
    let environment = environment();
    for options in [KvOptions::ordered(), KvOptions::hashed()] {
        let database = environment.create("d", options).unwrap();
        let mut calls = database.auto_commit();
        let (zeros, ones) = ([0; MAX_PLAIN_KEY_LEN + 1], [1; 1023]);
        calls.put(&zeros[1..], &[7; 1 << 20]).unwrap();
        calls.put(&ones[1..], b"").unwrap();
        for long in [&zeros[..], &ones[..]] {
            assert_eq!(kind(calls.put(long, b"v")), ErrorKind::KeyTooLong);
            assert_eq!(kind(calls.put_no_overwrite(long, b"v")), ErrorKind::KeyTooLong);
            assert_eq!(kind(calls.get(long)), ErrorKind::KeyTooLong);
            assert_eq!(kind(calls.delete(long)), ErrorKind::KeyTooLong);
        }
        assert_eq!(calls.get(&zeros[1..]).unwrap().map(<[u8]>::len), Some(1 << 20));
        // What holds a snapshot keeps the database from being removed.
        calls.rest();
        environment.remove("d").unwrap();
    }
    let both = environment.create("both", KvOptions::ordered().with_duplicates()).unwrap();
    let mut calls = both.auto_commit();
    calls.put(&[1; 500], &[1; 520]).unwrap();
    assert_eq!(kind(calls.put(&[1; 500], &[1; 521])), ErrorKind::KeyTooLong);
    assert_eq!(records(&environment, &both), 1);
}

#[test]
fn a_budget_that_is_reached_takes_nothing_back() {
    let environment = Environment::open(Options::new().budget(1 << 20)).unwrap();
    let database = environment.create("d", KvOptions::ordered()).unwrap();
    let mut calls = database.auto_commit();
    let refused = (0..100_000_u32).find_map(|number| {
        calls.put(&number.to_be_bytes(), &[0; 100]).err().map(|error| (number, error))
    });
    let (number, error) = refused.unwrap();
    assert_eq!(error.kind(), ErrorKind::BudgetReached);
    assert_eq!(records(&environment, &database), number as usize);
    assert_eq!(calls.delete(&0_u32.to_be_bytes()).unwrap(), 1);
}

#[test]
fn an_environment_without_transactions_refuses_them() {
    let environment = environment().without_transactions();
    assert_eq!(kind(environment.begin_read()), ErrorKind::InvalidOptions);
    assert_eq!(kind(environment.begin_write()), ErrorKind::InvalidOptions);
    assert_eq!(kind(environment.read(|_| Ok(()))), ErrorKind::InvalidOptions);
    assert_eq!(kind(environment.write(|_| Ok(()))), ErrorKind::InvalidOptions);
}

#[test]
fn a_cursor_is_changed_in_its_own_transaction_alone() {
    let environment = environment();
    let database = environment.create("d", KvOptions::ordered()).unwrap();
    database.auto_commit().put(b"k", b"v").unwrap();
    let (own, other) = (environment.begin_write().unwrap(), environment.begin_write().unwrap());
    let mut cursor = database.cursor(&own).unwrap();
    assert_eq!(kind(cursor.delete(&own)), ErrorKind::RowNotFound);
    cursor.first().unwrap();
    assert_eq!(kind(cursor.delete(&other)), ErrorKind::TransactionEnded);
    assert_eq!(kind(cursor.put(&other, b"a", b"b")), ErrorKind::TransactionEnded);
    assert_eq!(kind(cursor.put_current(&other, b"b")), ErrorKind::TransactionEnded);
    cursor.put_current(&own, b"w").unwrap();
    own.roll_back();
    assert_eq!(kind(cursor.delete(&own)), ErrorKind::TransactionEnded);
}

#[test]
fn secondary_databases_are_refused_where_they_make_no_sense() {
    let (environment, other) = (environment(), environment());
    let primary = environment.create("primary", KvOptions::ordered()).unwrap();
    let index = environment.create("index", KvOptions::ordered().with_duplicates()).unwrap();
    let foreign = other.create("foreign", KvOptions::ordered()).unwrap();
    let associate = |a: &KvDatabase, b: &KvDatabase| a.associate(b, |_, v, keys| keys.push(v));
    for (a, b) in [(&primary, &primary), (&index, &primary), (&primary, &foreign)] {
        assert_eq!(kind(associate(a, b)), ErrorKind::InvalidOptions);
    }
    let secondary = associate(&primary, &index).unwrap();
    assert_eq!(kind(associate(&primary, &index)), ErrorKind::InvalidOptions);
    assert_eq!(kind(index.auto_commit().put(b"k", b"v")), ErrorKind::InvalidOptions);
    assert_eq!(kind(index.auto_commit().delete(b"k")), ErrorKind::InvalidOptions);
    assert_eq!(kind(index.auto_commit().truncate()), ErrorKind::InvalidOptions);
    assert_eq!(kind(environment.remove("primary")), ErrorKind::InvalidOptions);
    assert_eq!(kind(environment.rename("index", "other")), ErrorKind::InvalidOptions);
    let again = environment.open_database("index").unwrap();
    assert_eq!(kind(again.auto_commit().put(b"k", b"v")), ErrorKind::InvalidOptions);
    secondary.clone().dissociate();
    secondary.dissociate();
    index.auto_commit().put(b"k", b"v").unwrap();
    environment.remove("index").unwrap();
}

#[test]
fn a_secondary_key_of_two_records_refuses_the_second_and_changes_nothing() {
    let environment = environment();
    let primary = environment.create("primary", KvOptions::hashed()).unwrap();
    let [first, second] = ["first", "second"].map(|name| {
        let index = environment.create(name, KvOptions::hashed()).unwrap();
        let place = usize::from(name == "second");
        let key_at = move |_: &[u8], value: &[u8], keys: &mut remanent_kv::SecondaryKeys| {
            keys.push(&value[place..=place]);
        };
        primary.associate(&index, key_at).unwrap()
    });
    let tx = environment.begin_write().unwrap();
    primary.put(&tx, b"1", b"ab").unwrap();
    primary.put(&tx, b"2", b"cd").unwrap();
    // The first secondary database has taken the change when the second one refuses it.
    assert_eq!(kind(primary.put(&tx, b"2", b"eb")), ErrorKind::DuplicateKey);
    assert_eq!(kind(primary.put(&tx, b"3", b"fb")), ErrorKind::DuplicateKey);
    assert_eq!(primary.get(&tx, b"2").unwrap(), Some(&b"cd"[..]));
    assert_eq!(first.get(&tx, b"e").unwrap(), None);
    assert_eq!(first.get(&tx, b"c").unwrap(), Some(&b"cd"[..]));
    assert_eq!(second.get_primary(&tx, b"b").unwrap(), Some((&b"1"[..], &b"ab"[..])));
    assert!(!primary.exists(&tx, b"3").unwrap());
}

#[test]
fn a_primary_that_was_changed_as_a_table_is_out_of_step() {
    let environment = environment();
    let primary = environment.create("primary", KvOptions::ordered()).unwrap();
    let index = environment.create("index", KvOptions::ordered().with_duplicates()).unwrap();
    let secondary = primary.associate(&index, |_, value, keys| keys.push(value)).unwrap();
    primary.auto_commit().put(b"k", b"v").unwrap();
    let tx = environment.begin_write().unwrap();
    let row = tx.scan(primary.table()).unwrap().next().unwrap().id();
    tx.delete(primary.table(), row).unwrap();
    assert_eq!(kind(secondary.get(&tx, b"v")), ErrorKind::RowNotFound);
    assert_eq!(kind(secondary.delete(&tx, b"v")), ErrorKind::RowNotFound);
}

#[test]
fn sequences_are_checked() {
    let environment = environment();
    let database = environment.create("d", KvOptions::ordered()).unwrap();
    let open = |options| Sequence::open(&database, b"s", options).map(|_| ());
    let options = SequenceOptions::new();
    for wrong in [
        options.range(2, 1),
        options.increment(0),
        options.cache(0),
        options.range(1, 5).initial(6),
    ] {
        assert_eq!(kind(open(wrong)), ErrorKind::InvalidOptions);
    }
    assert_eq!(records(&environment, &database), 0);
    let duplicates = environment.create("dup", KvOptions::ordered().with_duplicates()).unwrap();
    let refused = Sequence::open(&duplicates, b"s", options);
    assert_eq!(kind(refused), ErrorKind::InvalidOptions);
    let sequence = Sequence::open(&database, b"s", options.range(0, 1)).unwrap();
    database.auto_commit().delete(b"s").unwrap();
    assert_eq!(kind(sequence.next()), ErrorKind::RowNotFound);
    database.auto_commit().put(b"s", &[1; 40]).unwrap();
    assert_eq!(kind(sequence.next()), ErrorKind::WrongType);
}

#[test]
fn a_table_of_the_same_shape_is_a_database() {
    let database = Database::open(Options::new().budget(16 << 20)).unwrap();
    let schema = TableSchema::new("t")
        .column("key", ColumnType::BLOB)
        .column("value", ColumnType::BLOB)
        .primary_key(["key"]);
    let table = database.create_table(schema).unwrap();
    let environment = Environment::over(database);
    environment
        .write(|tx| tx.insert_values(&table, &[Some(b"k"[..].into()), Some(b"v"[..].into())]))
        .unwrap();
    let opened = environment.open_database("t").unwrap();
    assert_eq!(opened.auto_commit().get(b"k").unwrap(), Some(&b"v"[..]));
}
