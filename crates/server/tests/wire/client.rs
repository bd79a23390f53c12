//! What a widely used client sees: statements, values of all types, transactions, errors, COPY,
//! portals, cancelling.

use std::time::{Duration, SystemTime};

use crate::harness::{Running, state};
use futures::{SinkExt, TryStreamExt};
use tokio_postgres::types::Type;
use tokio_postgres::{NoTls, SimpleQueryMessage};

#[tokio::test(flavor = "multi_thread")]
async fn values_of_all_types_go_there_and_back_in_binary() {
    let running = Running::trusting();
    let client = running.client().await;
    client
        .batch_execute(
            "create table v (id int primary key, b boolean, s smallint, l bigint, r real, \
             d double precision, t text, y bytea, c varchar(9), u uuid, j json, a int[], \
             at timestamp, atz timestamptz)",
        )
        .await
        .unwrap();
    let moment = SystemTime::UNIX_EPOCH + Duration::from_micros(1_600_000_000_123_456);
    let list = vec![Some(1), Some(-2)];
    let insert = "insert into v (id, b, s, l, r, d, t, y, c, a, at, atz) \
                  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
    let changed = client
        .execute(
            insert,
            &[
                &1_i32,
                &true,
                &-2_i16,
                &(1_i64 << 40),
                &1.5_f32,
                &-2.25_f64,
                &"gr\u{fc}n",
                &vec![0_u8, 255],
                &"abc",
                &list,
                &moment,
                &moment,
            ],
        )
        .await
        .unwrap();
    assert_eq!(changed, 1);
    let row = client.query_one("select * from v where id = $1", &[&1_i32]).await.unwrap();
    assert!(row.get::<_, bool>("b"));
    assert_eq!(row.get::<_, i16>("s"), -2);
    assert_eq!(row.get::<_, i64>("l"), 1 << 40);
    assert_eq!(row.get::<_, f32>("r"), 1.5);
    assert_eq!(row.get::<_, f64>("d"), -2.25);
    assert_eq!(row.get::<_, &str>("t"), "gr\u{fc}n");
    assert_eq!(row.get::<_, Vec<u8>>("y"), [0, 255]);
    assert_eq!(row.get::<_, &str>("c"), "abc");
    assert_eq!(row.get::<_, Vec<Option<i32>>>("a"), list);
    assert_eq!(row.get::<_, SystemTime>("at"), moment);
    assert_eq!(row.get::<_, SystemTime>("atz"), moment);
    assert_eq!(row.columns()[10].type_(), &Type::JSON);
    assert_eq!(row.columns()[9].type_(), &Type::UUID);
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_as_text_answer_one_after_the_other() {
    let running = Running::trusting();
    let client = running.client().await;
    let text = "create table t (a int primary key); insert into t values (1), (2); \
                select a, null as n from t order by a";
    let answers = client.simple_query(text).await.unwrap();
    let rows: Vec<(Option<&str>, Option<&str>)> = answers
        .iter()
        .filter_map(|answer| match answer {
            SimpleQueryMessage::Row(row) => Some((row.get(0), row.get(1))),
            _ => None,
        })
        .collect();
    assert_eq!(rows, [(Some("1"), None), (Some("2"), None)]);
    assert!(client.simple_query("").await.is_ok());
    // Changes in one text are one transaction.
    let failed = client.simple_query("insert into t values (3); insert into t values (1)").await;
    assert_eq!(state(&failed.unwrap_err()), "23505");
    let count: i64 = client.query_one("select count(*) from t", &[]).await.unwrap().get(0);
    assert_eq!(count, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn types_that_a_client_declares_count_before_ours() {
    let running = Running::trusting();
    let client = running.client().await;
    client.batch_execute("create table t (a bigint primary key)").await.unwrap();
    let insert = client.prepare_typed("insert into t values ($1)", &[Type::INT2]).await.unwrap();
    assert_eq!(insert.params(), [Type::INT2]);
    client.execute(&insert, &[&7_i16]).await.unwrap();
    let select = client.prepare("select a from t where a = $1").await.unwrap();
    assert_eq!(select.params(), [Type::INT8]);
    assert_eq!(select.columns()[0].type_(), &Type::INT8);
    assert_eq!(client.query_one(&select, &[&7_i64]).await.unwrap().get::<_, i64>(0), 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_is_rolled_back_and_the_connection_goes_on_after_errors() {
    let running = Running::trusting();
    let mut client = running.client().await;
    client.batch_execute("create table t (a int primary key)").await.unwrap();
    let transaction = client.transaction().await.unwrap();
    transaction.execute("insert into t values (1)", &[]).await.unwrap();
    transaction.rollback().await.unwrap();
    for (text, wanted) in [
        ("select nothing from t", "42703"),
        ("select * from nowhere", "42P01"),
        ("selct", "42601"),
        ("select 1/0", "22012"),
    ] {
        let error = client.query(text, &[]).await.unwrap_err();
        assert_eq!(state(&error), wanted, "{text}");
    }
    let count: i64 = client.query_one("select count(*) from t", &[]).await.unwrap().get(0);
    assert_eq!(count, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn copy_takes_and_gives_rows_in_one_transaction() {
    let running = Running::trusting();
    let client = running.client().await;
    client.batch_execute("create table t (a int primary key, b text default 'd')").await.unwrap();
    let mut lines = String::new();
    (0..5000).for_each(|a| lines += &format!("{a}\tx{a}\n"));
    let sink = client.copy_in("copy t from stdin").await.unwrap();
    futures::pin_mut!(sink);
    for piece in lines.as_bytes().chunks(777) {
        sink.send(bytes::Bytes::copy_from_slice(piece)).await.unwrap();
    }
    assert_eq!(sink.finish().await.unwrap(), 5000);
    let sink = client.copy_in("copy t (a) from stdin with (format csv)").await.unwrap();
    futures::pin_mut!(sink);
    sink.send(bytes::Bytes::from_static(b"9000\n4\n")).await.unwrap();
    assert_eq!(state(&sink.finish().await.unwrap_err()), "23505");
    let text = "copy (select * from t where a in (3, 9000) order by a) to stdout \
                with (format csv, header)";
    let copied = client.copy_out(text).await.unwrap();
    let copied: Vec<bytes::Bytes> = copied.try_collect().await.unwrap();
    assert_eq!(copied.concat(), b"a,b\n3,x3\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_portal_goes_on_where_it_stopped() {
    let running = Running::trusting();
    let mut client = running.client().await;
    client.batch_execute("create table t (a int primary key)").await.unwrap();
    client.batch_execute("insert into t values (1), (2), (3), (4), (5)").await.unwrap();
    let transaction = client.transaction().await.unwrap();
    let portal = transaction.bind("select a from t order by a", &[]).await.unwrap();
    let mut found = Vec::new();
    for wanted in [2, 2, 1] {
        let rows = transaction.query_portal(&portal, 2).await.unwrap();
        assert_eq!(rows.len(), wanted);
        found.extend(rows.iter().map(|row| row.get::<_, i32>(0)));
    }
    assert_eq!(found, [1, 2, 3, 4, 5]);
    transaction.commit().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_stops_a_copy_of_its_own_connection() {
    let running = Running::trusting();
    let client = running.client().await;
    let other = running.client().await;
    client.batch_execute("create table t (a int primary key)").await.unwrap();
    let sink = client.copy_in("copy t from stdin").await.unwrap();
    futures::pin_mut!(sink);
    sink.send(bytes::Bytes::from_static(b"1\n")).await.unwrap();
    other.cancel_token().cancel_query(NoTls).await.unwrap();
    client.cancel_token().cancel_query(NoTls).await.unwrap();
    // Another connection brings the request, and nobody says when it has arrived.
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(state(&sink.finish().await.unwrap_err()), "57014");
    let count: i64 = other.query_one("select count(*) from t", &[]).await.unwrap().get(0);
    assert_eq!(count, 0);
    assert!(client.query_one("select 1", &[]).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn cursors_give_rows_a_few_at_a_time_and_pass_over_others() {
    let running = Running::trusting();
    let client = running.client().await;
    let insert = "create table t (a int primary key); insert into t values (1), (2), (3), (4), (5)";
    client.batch_execute(insert).await.unwrap();
    let declare = "declare walk cursor for select a from t order by a";
    assert_eq!(state(&client.batch_execute(declare).await.unwrap_err()), "25P01");
    client.batch_execute(&format!("begin; {declare}")).await.unwrap();
    client.batch_execute("savepoint s; move 1 from walk").await.unwrap();
    let rows = client.query("fetch forward 2 from walk", &[]).await.unwrap();
    assert_eq!(rows.iter().map(|row| row.get::<_, i32>(0)).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(client.query("fetch all from walk", &[]).await.unwrap().len(), 2);
    assert_eq!(client.query("fetch next from walk", &[]).await.unwrap().len(), 0);
    assert_eq!(state(&client.batch_execute("fetch prior from walk").await.unwrap_err()), "0A000");
    client.batch_execute("close walk; commit").await.unwrap();
    assert_eq!(state(&client.query("fetch 1 from walk", &[]).await.unwrap_err()), "34000");
    let held = "declare held cursor with hold for select a from t; delete from t";
    client.batch_execute(held).await.unwrap();
    assert_eq!(client.query("fetch all from held", &[]).await.unwrap().len(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_in_binary_hold_the_same_values() {
    let running = Running::trusting();
    let client = running.client().await;
    client.batch_execute("create table t (a int primary key, b text)").await.unwrap();
    let sink = client.copy_in("copy t from stdin (format binary)").await.unwrap();
    let types = [Type::INT4, Type::TEXT];
    let writer = tokio_postgres::binary_copy::BinaryCopyInWriter::new(sink, &types);
    futures::pin_mut!(writer);
    writer.as_mut().write(&[&1_i32, &"one"]).await.unwrap();
    writer.as_mut().write(&[&2_i32, &None::<&str>]).await.unwrap();
    assert_eq!(writer.finish().await.unwrap(), 2);
    let copied = client.copy_out("copy t to stdout (format binary)").await.unwrap();
    let rows = tokio_postgres::binary_copy::BinaryCopyOutStream::new(copied, &types);
    let mut rows: Vec<_> = rows.try_collect().await.unwrap();
    rows.sort_by_key(|row| row.get::<i32>(0));
    assert_eq!(rows[0].get::<&str>(1), "one");
    assert_eq!(rows[1].get::<Option<&str>>(1), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_name_what_they_are_about() {
    let running = Running::trusting();
    let client = running.client().await;
    let made = "create table t (a int primary key, b int not null, check (b > 0))";
    client.batch_execute(made).await.unwrap();
    client.batch_execute("insert into t values (1, 1)").await.unwrap();
    for (text, column, constraint) in [
        ("insert into t values (1, 1)", None, Some("t_pkey")),
        ("insert into t select 1, 1", None, Some("t_pkey")),
        ("insert into t values (2, null)", Some("b"), None),
        ("insert into t values (2, 0)", None, Some("t_check")),
    ] {
        let error = client.batch_execute(text).await.unwrap_err();
        let error = error.as_db_error().unwrap();
        assert_eq!((error.schema(), error.table()), (Some("public"), Some("t")), "{text}");
        assert_eq!((error.column(), error.constraint()), (column, constraint), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_join_of_all_with_all_can_be_stopped() {
    let running = Running::trusting();
    let client = running.client().await;
    client.batch_execute("create table t (a int primary key)").await.unwrap();
    client.batch_execute("insert into t select * from generate_series(1, 3000)").await.unwrap();
    client.batch_execute("set statement_timeout = 100").await.unwrap();
    let text = "select count(*) from t x, t y, t z where x.a + y.a > z.a";
    let started = std::time::Instant::now();
    assert_eq!(state(&client.batch_execute(text).await.unwrap_err()), "57014");
    assert!(started.elapsed() < Duration::from_secs(20));
}
