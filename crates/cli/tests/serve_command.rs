//! `serve` as people start it: with no flags or few, and the first connection as its lines say.
#![cfg(feature = "sql")]

#[expect(dead_code, reason = "a part of it is used here")]
mod program;

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use program::Folder;

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
