//! An exporter as those who ask it see it: over a socket and over TCP, asked rightly and wrongly,
//! its text read back by a parser that knows nothing of it.

use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use prometheus_parse::{Scrape, Value as Sample};
use remanent_engine::schema::{ColumnType, IndexSchema, TableSchema, Value};
use remanent_engine::{Database, Options, Result, TransactionOptions};
use remanent_exporter::{Exporter, Exposition, Listen, prometheus_text};

fn database(rows: u32) -> Result<Arc<Database>> {
    let db = Database::open(Options::new().budget(64 << 20))?;
    let schema = TableSchema::new("Part")
        .column("number", ColumnType::U32)
        .primary_key(["number"])
        .index(IndexSchema::new("quick", ["number"]).hash());
    let table = db.create_table(schema)?;
    for number in 0..rows {
        db.write(|tx| tx.insert_values(&table, &[Some(Value::U32(number))]))?;
    }
    Ok(Arc::new(db))
}

/// Sends bytes and takes the answer.
fn ask(mut stream: impl Read + Write, request: &[u8]) -> String {
    stream.write_all(request).expect("it is taken");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it is answered");
    answer
}

const GET: &[u8] = b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n";

/// The text of an answer, whose head has to be right.
fn body(answer: &str) -> &str {
    let (head, body) = answer.split_once("\r\n\r\n").expect("it has a head");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(head.contains("\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
    assert!(head.contains(&format!("\r\nContent-Length: {}\r\n", body.len())), "{head}");
    body
}

/// The samples by name and labels, and which names are counters.
fn samples(text: &str) -> HashMap<String, f64> {
    let lines = text.lines().map(|line| Ok(line.to_owned()));
    let scrape = Scrape::parse(lines).expect("it is text");
    let mut samples = HashMap::new();
    for sample in scrape.samples {
        assert!(scrape.docs.contains_key(&sample.metric), "{} has help", sample.metric);
        let value = match sample.value {
            Sample::Counter(value) => {
                assert!(sample.metric.ends_with("_total"), "{}", sample.metric);
                value
            }
            Sample::Gauge(value) => {
                assert!(!sample.metric.ends_with("_total"), "{}", sample.metric);
                value
            }
            other => panic!("{} is {other:?}", sample.metric),
        };
        let mut labels: Vec<_> =
            sample.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
        labels.sort();
        let name = format!("{}{{{}}}", sample.metric, labels.join(","));
        assert!(samples.insert(name, value).is_none(), "{} is there twice", sample.metric);
    }
    samples
}

#[test]
fn everything_is_in_the_text() -> Result<()> {
    let db = database(1000)?;
    let _report = db.begin_read_with(&TransactionOptions::new().name("report"))?;
    let _second = db.begin_read_with(&TransactionOptions::new().name("report"))?;
    let _writer = db.begin_write()?;
    let samples = samples(&prometheus_text(&db));
    let memory = db.memory();
    let sum: f64 = samples
        .iter()
        .filter(|(name, _)| name.starts_with("remanent_memory_bytes{"))
        .map(|(_, value)| value)
        .sum();
    assert_eq!(sum, memory.held as f64);
    let expected = [
        ("remanent_memory_budget_bytes{}", memory.budget),
        ("remanent_memory_bytes{purpose=rows}", memory.rows),
        ("remanent_memory_reserved_bytes{}", memory.reserved),
        ("remanent_memory_cached_bytes{}", memory.cached),
        ("remanent_memory_evicted_bytes{}", memory.evicted),
        ("remanent_read_back_bytes_total{}", memory.read_back),
        ("remanent_column_reads_total{}", 0),
        ("remanent_column_waiting_seconds_total{}", 0),
        ("remanent_column_unpacking_seconds_total{}", 0),
        ("remanent_commits_total{}", 1000),
        ("remanent_changes_total{}", 1000),
        ("remanent_conflicts_total{}", 0),
        ("remanent_transactions{kind=reader}", 2),
        ("remanent_transactions{kind=writer}", 1),
        ("remanent_snapshots{kind=reader,name=report}", 2),
        ("remanent_snapshots{kind=writer,name=}", 1),
        ("remanent_snapshot_pinned_bytes{kind=reader,name=report}", 0),
        ("remanent_table_rows{table=Part}", 1000),
        ("remanent_table_row_bytes{table=Part}", memory.rows),
        ("remanent_table_segment_bytes{table=Part}", memory.segments),
    ];
    for (name, value) in expected {
        assert_eq!(samples.get(name), Some(&(value as f64)), "{name} in {samples:#?}");
    }
    for name in [
        "remanent_index_bytes{index=primary,kind=ordered,table=Part}",
        "remanent_index_bytes{index=quick,kind=hash,table=Part}",
        "remanent_snapshot_age_seconds{kind=reader,name=report}",
        "remanent_uptime_seconds{}",
    ] {
        assert!(samples.get(name).is_some_and(|value| *value > 0.0), "{name}");
    }
    assert!(!samples.contains_key("remanent_log_syncs_total{}"), "it has no log");
    Ok(())
}

#[test]
fn names_are_escaped_and_few() -> Result<()> {
    let db = database(0)?;
    let odd = db.begin_read_with(&TransactionOptions::new().name("a\"b\\c\nd"))?;
    let text = prometheus_text(&db);
    assert!(text.contains(r#"remanent_snapshots{name="a\"b\\c\nd",kind="reader"} 1"#), "{text}");
    drop(odd);
    let named = |number| TransactionOptions::new().name(&format!("request {number}"));
    let held: Vec<_> =
        (0..100).map(|number| db.begin_read_with(&named(number))).collect::<Result<_>>()?;
    let samples = samples(&prometheus_text(&db));
    assert_eq!(samples["remanent_snapshots{kind=reader,name=(others)}"], 50.0);
    assert_eq!(samples.keys().filter(|name| name.starts_with("remanent_snapshots{")).count(), 51);
    drop(held);
    Ok(())
}

#[test]
fn a_socket_in_the_folder_of_a_database() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("metrics.sock");
    let db = Arc::new(Database::open_at(folder.path(), Options::new().budget(64 << 20))?);
    let exporter = Exporter::start(Arc::clone(&db), Listen::folder(folder.path()))?;
    assert_eq!(exporter.socket_path(), Some(path.as_path()));
    assert_eq!(std::fs::metadata(&path)?.permissions().mode() & 0o777, 0o600);
    let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    db.write(|tx| tx.insert_values(&table, &[Some(1.into())]))?;
    let samples = samples(body(&ask(UnixStream::connect(&path)?, GET)));
    // The table's and the row's.
    assert_eq!(samples["remanent_log_commits_total{}"], 2.0);
    assert!(samples["remanent_log_bytes_total{durability=disk}"] > 0.0);
    assert!(samples["remanent_log_syncs_total{}"] >= 1.0);

    let second = Exporter::start(Arc::clone(&db), Listen::folder(folder.path()));
    assert_eq!(second.unwrap_err().kind(), ErrorKind::AddrInUse);
    drop(exporter);
    assert!(!path.exists());
    // What a process leaves that was killed.
    drop(UnixListener::bind(&path)?);
    assert!(path.exists());
    let again = Exporter::start(Arc::clone(&db), Listen::folder(folder.path()))?;
    body(&ask(UnixStream::connect(&path)?, GET));
    drop(again);
    std::fs::write(&path, "not a socket")?;
    let refused = Exporter::start(Arc::clone(&db), Listen::folder(folder.path()));
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::AlreadyExists);
    // The database takes no notice of the file.
    drop(db);
    let db = Database::open_at(folder.path(), Options::new().budget(64 << 20))?;
    assert_eq!(db.table_names(), ["T"]);
    Ok(())
}

#[test]
fn somebody_elses_socket_is_not_removed() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("metrics.sock");
    let exporter = Exporter::start(database(0)?, Listen::socket(&path))?;
    std::fs::remove_file(&path)?;
    let _other = UnixListener::bind(&path)?;
    drop(exporter);
    assert!(path.exists());
    Ok(())
}

#[test]
fn only_this_machine_unless_it_is_meant() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let db = database(3)?;
    let exporter = Exporter::start(Arc::clone(&db), Listen::port(0))?;
    let address = exporter.address().expect("it listens at one");
    assert!(address.ip().is_loopback());
    let text = ask(TcpStream::connect(address)?, GET);
    assert_eq!(samples(body(&text))["remanent_commits_total{}"], 3.0);
    let taken = Exporter::start(Arc::clone(&db), Listen::address(address));
    assert_eq!(taken.unwrap_err().kind(), ErrorKind::AddrInUse);
    let refused = Exporter::start(Arc::clone(&db), Listen::address("0.0.0.0:0".parse()?));
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::PermissionDenied);
    Exporter::start(db, Listen::open_address("0.0.0.0:0".parse()?))?;
    Ok(())
}

#[test]
fn bad_requests_end_their_connection_alone() -> std::result::Result<(), Box<dyn std::error::Error>>
{
    let db = database(1)?;
    let exporter = Exporter::start(db, Listen::port(0))?;
    let address = exporter.address().expect("it listens at one");
    let status = |request: &[u8]| -> std::io::Result<String> {
        let answer = ask(TcpStream::connect(address)?, request);
        Ok(answer.lines().next().unwrap_or("").to_owned())
    };
    assert_eq!(status(b"\x16\x03\x01\x02\x00garbage\r\n\r\n")?, "HTTP/1.1 400 Bad Request");
    assert_eq!(status(b"GET /other HTTP/1.1\r\n\r\n")?, "HTTP/1.1 404 Not Found");
    assert_eq!(status(b"DELETE /metrics HTTP/1.1\r\n\r\n")?, "HTTP/1.1 405 Method Not Allowed");
    let endless = [b"GET /metrics HTTP/1.1\r\nX: ".to_vec(), vec![b'x'; 8 << 10]].concat();
    assert!(status(&endless)?.starts_with("HTTP/1.1 431"));
    // Half requests: one that goes away, one that says no more, many that say nothing.
    let mut gone = TcpStream::connect(address)?;
    gone.write_all(b"GET /met")?;
    drop(gone);
    let mut halves = Vec::new();
    for _ in 0..20 {
        let mut half = TcpStream::connect(address)?;
        half.write_all(b"GET /metrics HTTP/1.1\r\n")?;
        halves.push(half);
    }
    let begun = Instant::now();
    body(&ask(TcpStream::connect(address)?, GET));
    assert!(begun.elapsed() < Duration::from_secs(5));
    // One that ends half way gets no answer, and one that goes on is still waited for.
    let mut half = halves.pop().expect("there are some");
    half.shutdown(std::net::Shutdown::Write)?;
    let mut answer = String::new();
    half.read_to_string(&mut answer)?;
    assert_eq!(answer, "");
    body(&ask(halves.pop().expect("there are some"), b"Host: here\r\n\r\n"));
    // A body that nobody asked for does not take the answer away.
    let with_body = [GET, &[b'x'; 100_000]].concat();
    body(&ask(TcpStream::connect(address)?, &with_body));
    // It ends at once, although some still wait.
    let begun = Instant::now();
    drop(exporter);
    assert!(begun.elapsed() < Duration::from_secs(1));
    assert!(TcpStream::connect(address).is_err());
    Ok(())
}

#[test]
fn tables_are_inspected_again_when_it_is_time() -> Result<()> {
    let db = database(2)?;
    let table = db.table("Part")?;
    let mut seldom = Exposition::new().tables_refresh(Duration::from_secs(3600));
    let mut always = Exposition::new().tables_refresh(Duration::ZERO);
    let rows = |text: String| samples(&text)["remanent_table_rows{table=Part}"];
    assert_eq!((rows(seldom.text(&db)), rows(always.text(&db))), (2.0, 2.0));
    db.write(|tx| tx.insert_values(&table, &[Some(7.into())]))?;
    // Twenty times as long as it took.
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!((rows(seldom.text(&db)), rows(always.text(&db))), (2.0, 3.0));
    assert!(samples(&seldom.text(&db))["remanent_tables_age_seconds{}"] >= 0.2);
    Ok(())
}
