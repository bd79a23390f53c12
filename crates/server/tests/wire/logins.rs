//! Logging in by hand, message by message, while the role changes.
//!
//! What a client is asked, and what it receives at the end, is the same for a role that does not
//! exist, may not log in or has another password; and only a role that is at the end what it was at
//! the beginning is let in.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use postgres_protocol::authentication::sasl::{ChannelBinding, ScramSha256};
use remanent_server::{Options, Server};
use remanent_sql::SqlDatabase;

use crate::harness::Running;

/// A message: what it is, and what is in it.
type Message = (u8, Vec<u8>);

/// A client that has said who it is and was asked for its proof.
struct Login {
    socket: TcpStream,
    scram: ScramSha256,
    /// What the server has sent, message by message.
    heard: Vec<Message>,
}

impl Login {
    fn begin(port: u16, user: &str, password: &str) -> Self {
        let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let body = format!("\0\x03\0\0user\0{user}\0database\0db\0\0");
        socket.write_all(&(body.len() as u32 + 4).to_be_bytes()).unwrap();
        socket.write_all(body.as_bytes()).unwrap();
        let scram = ScramSha256::new(password.as_bytes(), ChannelBinding::unsupported());
        let mut login = Self { socket, scram, heard: Vec::new() };
        assert_eq!(login.hear().0, b'R');
        login
    }

    fn hear(&mut self) -> Message {
        let mut head = [0; 5];
        self.socket.read_exact(&mut head).unwrap();
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let mut body = vec![0; length - 4];
        self.socket.read_exact(&mut body).unwrap();
        self.heard.push((head[0], body.clone()));
        (head[0], body)
    }

    fn say(&mut self, body: &[u8]) {
        self.socket.write_all(b"p").unwrap();
        self.socket.write_all(&(body.len() as u32 + 4).to_be_bytes()).unwrap();
        self.socket.write_all(body).unwrap();
    }

    /// The first message of the exchange, as it is or changed; what is asked then.
    fn first_as(&mut self, change: impl FnOnce(String) -> String) -> Message {
        let first = change(String::from_utf8(self.scram.message().to_vec()).unwrap());
        let mut body = b"SCRAM-SHA-256\0".to_vec();
        body.extend((first.len() as u32).to_be_bytes());
        body.extend(first.as_bytes());
        self.say(&body);
        self.hear()
    }

    /// The salt and the count that the client is asked with.
    fn first(&mut self) -> (String, String) {
        let (kind, body) = self.first_as(|first| first);
        assert_eq!((kind, &body[..4]), (b'R', &[0, 0, 0, 11][..]));
        self.scram.update(&body[4..]).unwrap();
        let text = String::from_utf8(body[4..].to_vec()).unwrap();
        let part = |name: &str| text.split(',').find_map(|part| part.strip_prefix(name)).unwrap();
        (part("s=").to_owned(), part("i=").to_owned())
    }

    /// Proves the password; whether that lets in.
    fn last(&mut self) -> bool {
        let last = self.scram.message().to_vec();
        self.say(&last);
        loop {
            match self.hear() {
                (b'E', _) => return false,
                (b'Z', _) => return true,
                _ => {}
            }
        }
    }

    /// What the server has said at last, without the name, which is the client's own.
    fn refusal(&self, user: &str) -> String {
        let (kind, body) = self.heard.last().unwrap();
        assert_eq!(*kind, b'E');
        String::from_utf8(body.clone()).unwrap().replace(user, "")
    }

    fn kinds(&self) -> Vec<(u8, usize)> {
        self.heard
            .iter()
            .map(|(kind, body)| (*kind, if *kind == b'R' { body.len() } else { 0 }))
            .collect()
    }
}

fn run(database: &Arc<SqlDatabase>, text: &str) {
    database.session().execute(text).unwrap_or_else(|error| panic!("{text}: {error}"));
}

fn running() -> Running {
    let running = Running::start(|options| options);
    run(&running.database, "create role ann password 'secret'");
    running
}

#[test]
fn a_role_that_changes_while_it_logs_in_is_not_let_in() {
    let changes = [
        "drop role ann",
        "drop role ann; create role ann password 'secret'",
        "drop role ann; create role ann superuser password 'secret'",
        "alter role ann nologin",
        "alter role ann password 'other'",
        "alter role ann password 'secret'",
        "alter role ann password null",
        "alter role ann superuser",
    ];
    for change in changes {
        for late in [false, true] {
            let running = running();
            let mut login = Login::begin(running.port, "ann", "secret");
            if late {
                login.first();
                run(&running.database, change);
            } else {
                // Whoever is asked after the change may be asked as another.
                run(&running.database, change);
                login.first();
            }
            assert!(!login.last(), "{change}, late: {late}");
        }
    }
    let running = running();
    let mut login = Login::begin(running.port, "ann", "secret");
    run(&running.database, "create role ben; alter role ben login");
    login.first();
    assert!(login.last(), "another role's change is no change");
}

#[test]
fn whoever_may_not_log_in_is_asked_and_refused_as_one_that_does_not_exist() {
    let running = running();
    run(&running.database, "create role carl password 'secret' nologin; create role dora login");
    let mut received = Vec::new();
    for (user, password) in
        [("ann", "wrong"), ("carl", "secret"), ("dora", ""), ("nobody", "secret"), ("eve", "x")]
    {
        let mut login = Login::begin(running.port, user, password);
        let (salt, count) = login.first();
        assert_eq!((salt.len(), count.as_str()), (24, "4096"), "{user}");
        assert!(!login.last(), "{user}");
        let refusal = login.refusal(user);
        received.push((login.kinds(), refusal));
        let mut again = Login::begin(running.port, user, "else");
        assert_eq!(again.first().0, salt, "{user}");
    }
    let (kinds, refusal) = received.remove(0);
    for (others, said) in received {
        assert_eq!(said, refusal);
        let bare = |kinds: &[(u8, usize)]| kinds.iter().map(|(kind, _)| *kind).collect::<Vec<_>>();
        assert_eq!(bare(&others), bare(&kinds));
    }
}

#[test]
fn a_made_up_salt_is_the_same_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let mut salts = Vec::new();
    for _ in 0..2 {
        let database =
            SqlDatabase::open_at(folder.path(), remanent_engine::Options::new()).unwrap();
        let server =
            Server::start(Arc::clone(&database), Options::new().listen("127.0.0.1:0")).unwrap();
        let port = server.addresses()[0].rsplit_once(':').unwrap().1.parse().unwrap();
        let of = |user| Login::begin(port, user, "x").first().0;
        salts.push((of("nobody"), of("nothing")));
        server.stop();
        drop(database);
    }
    assert_eq!(salts[0], salts[1]);
    assert_ne!(salts[0].0, salts[0].1);
}

#[test]
fn extensions_that_must_be_understood_are_refused() {
    let running = running();
    for change in ["n,,m=x,", "n,,m=,"] {
        let mut login = Login::begin(running.port, "ann", "secret");
        let (kind, _) = login.first_as(|first| first.replacen("n,,", change, 1));
        assert_eq!(kind, b'E', "{change}");
    }
    // A client that wants the channel bound, which we do not offer.
    let mut login = Login::begin(running.port, "ann", "secret");
    let (kind, _) = login.first_as(|first| first.replacen("n,,", "p=tls-unique,,", 1));
    assert_eq!(kind, b'E');
}

#[test]
fn trust_lets_in_no_role_that_may_not_log_in() {
    let running = Running::trusting();
    run(&running.database, "create role carl password 'x' nologin; create role ann login");
    let heard = |user: &str| {
        let mut socket = TcpStream::connect(("127.0.0.1", running.port)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let body = format!("\0\x03\0\0user\0{user}\0\0");
        socket.write_all(&(body.len() as u32 + 4).to_be_bytes()).unwrap();
        socket.write_all(body.as_bytes()).unwrap();
        let mut kind = [0];
        socket.read_exact(&mut kind).unwrap();
        kind[0]
    };
    assert_eq!(heard("carl"), b'E');
    assert_eq!(heard("ann"), b'R');
}
