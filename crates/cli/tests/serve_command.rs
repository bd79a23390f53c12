//! `serve` as people start it: with no flags or few, and the first connection as its lines say.
#![cfg(feature = "sql")]

#[expect(dead_code, reason = "a part of it is used here")]
mod program;

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use program::Folder;
use tokio_postgres::SimpleQueryMessage;

/// A server of this test's own, which ends with it.
struct Served {
    child: Child,
    /// What it has said on standard output up to being ready.
    lines: Vec<String>,
}

impl Served {
    /// Starts `remanent serve` and waits until it is ready, or has ended.
    fn start(arguments: &[&str], password: Option<&str>) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_remanent"));
        command.arg("serve").args(arguments).env_remove("REMANENT_PASSWORD");
        if let Some(password) = password {
            command.env("REMANENT_PASSWORD", password);
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = Vec::new();
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            lines.push(line.unwrap());
            if lines.last().is_some_and(|line| line.starts_with("ready for connections at ")) {
                break;
            }
        }
        Self { child, lines }
    }

    /// What stands behind a word on the first lines.
    fn line(&self, word: &str) -> &str {
        let line = self.lines.iter().find_map(|line| line.strip_prefix(word));
        line.unwrap_or_else(|| panic!("no line {word:?} in {:?}", self.lines)).trim()
    }

    /// The answer to a statement, or why there is none.
    fn answer(&self, user: &str, password: &str) -> Result<String, String> {
        let address = self.line("ready for connections at ");
        let (host, port) = address.rsplit_once(':').unwrap();
        let mut config = tokio_postgres::Config::new();
        config.host(host).port(port.parse().unwrap()).user(user).password(password);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let failed = |error: tokio_postgres::Error| match error.as_db_error() {
                Some(error) => error.code().code().to_owned(),
                None => error.to_string(),
            };
            let (client, connection) =
                config.connect(tokio_postgres::NoTls).await.map_err(failed)?;
            let connection = tokio::spawn(connection);
            let row = client.query_one("select current_user::text", &[]).await.map_err(failed)?;
            drop(client);
            connection.await.unwrap().unwrap();
            Ok(row.get(0))
        })
    }

    /// Runs statements; the last value that they answer.
    fn run(&self, user: &str, script: &str) -> String {
        let (host, port) = self.line("ready for connections at ").rsplit_once(':').unwrap();
        let mut config = tokio_postgres::Config::new();
        config.host(host).port(port.parse().unwrap()).user(user);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (client, connection) = config.connect(tokio_postgres::NoTls).await.unwrap();
            let connection = tokio::spawn(connection);
            let answers = client.simple_query(script).await.expect(script);
            drop(client);
            connection.await.unwrap().unwrap();
            let values = answers.iter().filter_map(|answer| match answer {
                SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
                _ => None,
            });
            values.last().unwrap_or_default()
        })
    }

    /// What `remanent feed` says, and how it ends.
    fn feed(&self, user: &str, flags: &[&str]) -> (Option<i32>, String, String) {
        let connection =
            format!("postgresql://{user}@{}/db", self.line("ready for connections at "));
        let mut command = Command::new(env!("CARGO_BIN_EXE_remanent"));
        let done = command.arg("feed").arg(connection).args(flags).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (done.status.code(), text(done.stdout), text(done.stderr))
    }

    /// Ends it as a service manager does; the log that it wrote, if it ended in order.
    fn stop(mut self) -> String {
        let kill = Command::new("kill").arg(self.child.id().to_string()).status().unwrap();
        assert!(kill.success());
        let mut log = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        assert!(self.child.wait().unwrap().success(), "{log}");
        log
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_first_lines_say_how_to_log_in() {
    let folder = Folder::new("serve");
    let path = folder.path("shop");
    let served = Served::start(&[&path, "--listen", "127.0.0.1:0"], None);
    assert!(served.line("database:").ends_with("(durability disk)"), "{:?}", served.lines);
    assert!(served.line("memory:").starts_with("at most "));
    let access = served.line("access:").to_owned();
    let (_, rest) = access.split_once("password ").expect("it was made now");
    let password = rest.split_once(' ').unwrap().0;
    assert_eq!(served.answer("remanent", password), Ok("remanent".to_owned()));
    assert_eq!(served.answer("remanent", "secret"), Err("28P01".to_owned()));
    let log = served.stop();
    assert!(log.contains("listens at 127.0.0.1:") && !log.contains(password), "{log}");

    // Once more: the role is there, and its password is not shown again.
    let served = Served::start(&[&path, "--listen", "127.0.0.1:0"], Some("another"));
    assert_eq!(served.line("access:"), "the roles of the database, by their passwords");
    assert_eq!(served.answer("remanent", password), Ok("remanent".to_owned()));
    assert_eq!(served.answer("remanent", "another"), Err("28P01".to_owned()));
    served.stop();

    // Whoever has lost it gives it another one.
    let again = [&path, "--listen", "127.0.0.1:0", "--superuser", "remanent"];
    let served = Served::start(&again, Some("another"));
    assert_eq!(served.answer("remanent", "another"), Ok("remanent".to_owned()));
    served.stop();
}

#[test]
fn a_password_of_the_environment_is_not_shown() {
    let served = Served::start(&[":memory:", "--listen", "127.0.0.1:0"], Some("it's \\ mine"));
    assert!(!served.lines.concat().contains("mine"), "{:?}", served.lines);
    assert!(served.line("database:").contains("in memory alone"));
    assert_eq!(served.answer("remanent", "it's \\ mine"), Ok("remanent".to_owned()));
    served.stop();
}

#[test]
fn trust_makes_no_role() {
    let served = Served::start(&[":memory:", "--listen", "127.0.0.1:0", "--trust"], None);
    assert!(served.line("access:").starts_with("trust: "));
    assert_eq!(served.answer("anybody", ""), Ok("anybody".to_owned()));
    served.stop();
}

#[test]
fn without_an_address_it_listens_where_clients_look() {
    let mut served = Served::start(&[":memory:"], None);
    // Another server may have the port.
    if served.lines.is_empty() {
        let mut said = String::new();
        served.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(said.contains("cannot listen at 127.0.0.1:5432"), "{said}");
        assert_eq!(served.child.wait().unwrap().code(), Some(1));
        return;
    }
    assert_eq!(served.line("ready for connections at"), "127.0.0.1:5432");
}

/// The values of a line, by their keys.
fn value_of<'l>(line: &'l str, key: &str) -> &'l str {
    let (_, rest) = line.split_once(&format!("\"{key}\":")).unwrap_or_else(|| panic!("{line}"));
    rest.split([',', '}']).next().unwrap()
}

#[test]
fn a_feed_says_what_was_committed_from_where_it_is_asked() {
    let folder = Folder::new("serve-feed");
    let path = folder.path("shop");
    let flags = ["--listen", "127.0.0.1:0", "--trust", "--change-feed", "1M"];
    let served = Served::start(&[&[path.as_str()], &flags[..]].concat(), None);
    served.run("admin", "create table t (a int primary key, b text); create table u (a int)");
    served.run("admin", "insert into t values (1, 'it''s\n\"new\"'); insert into u values (7)");
    served.run("admin", "update t set b = null; delete from t");

    let (code, lines, errors) = served.feed("admin", &["--table", "t"]);
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    let rows: Vec<&str> = lines.lines().filter(|line| !line.contains("\"commit\"")).collect();
    let [defined, inserted, updated, deleted] = rows[..] else { panic!("{lines}") };
    assert!(defined.ends_with("\"table\":\"t\",\"definition\":\"create table t\"}"), "{defined}");
    let [first, last] = [r#"{"a":1,"b":"it's\n\"new\""}"#, r#"{"a":1,"b":null}"#];
    assert!(
        inserted.ends_with(&format!("\"schema\":\"public\",\"table\":\"t\",\"new\":{first}}}"))
    );
    assert!(updated.ends_with(&format!("\"old\":{first},\"new\":{last}}}")), "{updated}");
    assert!(deleted.ends_with(&format!("\"table\":\"t\",\"old\":{last}}}")), "{deleted}");

    // From behind a commit, the rest; where nothing else comes, nothing.
    let (_, rest, _) = served.feed("admin", &["--table", "t", "--from", value_of(inserted, "lsn")]);
    assert!(
        lines.ends_with(&rest) && rest.contains("delete") && !rest.contains("insert"),
        "{rest}"
    );
    assert_eq!(served.feed("admin", &["--from", "now"]), (Some(0), String::new(), String::new()));

    // What is asked wrongly is said, and what cannot be given.
    let (code, _, errors) = served.feed("admin", &["--from", "1"]);
    assert!(code == Some(1) && errors.contains("(22023)"), "{errors}");
    let (code, _, errors) = served.feed("admin", &["--from", "here"]);
    assert!(code == Some(2) && errors.contains("not `here`"), "{errors}");
    let (code, _, errors) = served.feed("admin", &["--authority", "/nowhere.pem"]);
    assert!(code == Some(1) && errors.contains("/nowhere.pem"), "{errors}");
    served.run("admin", "create role guest login");
    let (code, _, errors) = served.feed("guest", &["--from", "0"]);
    assert!(code == Some(1) && errors.contains("(42501)"), "{errors}");

    // Started anew without the flag, it goes on; once it is ended, rows before are not known.
    served.stop();
    let served = Served::start(&[&path, "--listen", "127.0.0.1:0", "--trust"], None);
    served.run("admin", "insert into t values (2, 'x')");
    let from = lines.lines().last().map(|line| value_of(line, "lsn").to_owned()).unwrap();
    let (code, _, errors) = served.feed("admin", &["--from", &from]);
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    served.run("admin", "update t set b = 'y'");
    let (_, rest, _) = served.feed("admin", &["--from", &from, "--table", "t"]);
    assert!(rest.contains("\"old\":{\"a\":2,\"b\":\"x\"}"), "{rest}");
    served.stop();
    let served =
        Served::start(&[&path, "--listen", "127.0.0.1:0", "--trust", "--change-feed", "0"], None);
    let from = served.run("admin", "show remanent.lsn");
    served.run("admin", "update t set b = 'z'");
    let (code, _, errors) = served.feed("admin", &["--from", &from]);
    assert!(code == Some(1) && errors.contains("old rows were not logged"), "{errors}");
    let from = errors.split("position ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    assert_eq!(served.feed("admin", &["--from", from]), (Some(0), String::new(), String::new()));
}
