//! Where an exporter listens, and asking it.
//!
//! A folder is one of a database, and its socket has a fixed name. One question is one connection,
//! with a limit of time and length: what answers may be anything. Every failure says what can be
//! done about it.

use std::fmt::Display;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use httparse::{EMPTY_HEADER, Response, Status};

use crate::outcome::Failure;

/// The socket in the folder of a database; `remanent_exporter::SOCKET_NAME`.
const SOCKET_NAME: &str = "metrics.sock";
/// How long an answer may take. Going through the tables may make it wait.
const PATIENCE: Duration = Duration::from_secs(10);
/// The most bytes of an answer.
const ANSWER_MAX: u64 = 64 << 20;
const HEADERS_MAX: usize = 64;
const REQUEST: &[u8] = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

/// Where metrics are asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Exporter {
    /// At a Unix socket.
    Socket(PathBuf),
    /// At HOST:PORT.
    Address(String),
}

/// A stream of either kind.
trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

impl Exporter {
    /// The exporter that somebody means by a word.
    ///
    /// # Errors
    /// Says why there can be none.
    pub(crate) fn find(word: &str) -> Result<Self, Failure> {
        let path = Path::new(word);
        let refused = |text: String| Failure::Refused(format!("error: {word}: {text}"));
        match std::fs::metadata(path) {
            Ok(found) if found.is_dir() => in_folder(path).map_err(refused),
            Ok(found) if found.file_type().is_socket() => Ok(Self::Socket(path.to_owned())),
            Ok(_) => Err(refused("this is neither a folder nor a socket".to_owned())),
            Err(_) if is_address(word) => Ok(Self::Address(word.to_owned())),
            Err(error) => Err(refused(error.to_string())),
        }
    }

    /// Where it is, in words.
    pub(crate) fn place(&self) -> &str {
        match self {
            Self::Socket(path) => path.to_str().unwrap_or("a socket"),
            Self::Address(address) => address,
        }
    }

    /// The metrics as they come.
    ///
    /// # Errors
    /// Says why there are none.
    pub(crate) fn text(&self) -> Result<String, String> {
        let at = |error: &dyn Display| format!("{}: {error}", self.place());
        let mut stream = self.connect().map_err(|error| at(&explained(&error)))?;
        stream.write_all(REQUEST).map_err(|error| at(&explained(&error)))?;
        let mut answer = Vec::new();
        let read = read_until(&mut *stream, &mut answer, Instant::now() + PATIENCE);
        read.map_err(|error| at(&explained(&error)))?;
        body(answer).map_err(|error| at(&error))
    }

    fn connect(&self) -> std::io::Result<Box<dyn Stream>> {
        match self {
            Self::Socket(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                Ok(Box::new(stream))
            }
            Self::Address(address) => {
                let stream = connect_to(address)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                Ok(Box::new(stream))
            }
        }
    }
}

/// The exporter of the database in a folder.
fn in_folder(folder: &Path) -> Result<Exporter, String> {
    let socket = folder.join(SOCKET_NAME);
    if socket.exists() {
        return Ok(Exporter::Socket(socket));
    }
    let is_ours = |name: &str| name.starts_with("log-") || name.starts_with("image-");
    let mut names = std::fs::read_dir(folder).map_err(|error| error.to_string())?;
    let has_database =
        names.any(|entry| entry.is_ok_and(|e| e.file_name().to_str().is_some_and(is_ours)));
    Err(match has_database {
        true => "nobody exports this database; the program that has it open has to start an \
                 exporter, in Rust `Exporter::start(db, Listen::folder(path))`"
            .to_owned(),
        false => "there is no database in it".to_owned(),
    })
}

fn is_address(word: &str) -> bool {
    let port = word.rsplit_once(':').filter(|(host, _)| !host.is_empty());
    port.is_some_and(|(host, port)| !host.contains('/') && port.parse::<u16>().is_ok())
}

fn connect_to(address: &str) -> std::io::Result<TcpStream> {
    let mut last = std::io::Error::new(ErrorKind::NotFound, "there is no such host");
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn read_until(
    stream: &mut dyn Stream,
    answer: &mut Vec<u8>,
    deadline: Instant,
) -> std::io::Result<()> {
    let mut bytes = [0; 16 << 10];
    while Instant::now() < deadline {
        let count = stream.read(&mut bytes)?;
        answer.extend_from_slice(&bytes[..count]);
        if count == 0 || answer.len() as u64 > ANSWER_MAX {
            return Ok(());
        }
    }
    Err(ErrorKind::TimedOut.into())
}

/// The text of an answer.
fn body(mut answer: Vec<u8>) -> Result<String, String> {
    let not_http = || "what answers there does not speak HTTP".to_owned();
    let mut headers = [EMPTY_HEADER; HEADERS_MAX];
    let mut response = Response::new(&mut headers);
    let Ok(Status::Complete(head)) = response.parse(&answer) else { return Err(not_http()) };
    let length = response.headers.iter().find(|h| h.name.eq_ignore_ascii_case("content-length"));
    let length = length.and_then(|length| std::str::from_utf8(length.value).ok()?.parse().ok());
    if response.code != Some(200) {
        let (code, reason) = (response.code.unwrap_or(0), response.reason.unwrap_or(""));
        return Err(format!("it answered with {code} {reason}"));
    }
    let body = answer.split_off(head);
    if length.is_some_and(|length: usize| length != body.len()) {
        return Err("the answer is not whole".to_owned());
    }
    String::from_utf8(body).map_err(|_| "the answer is not text".to_owned())
}

fn explained(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::ConnectionRefused => {
            "nobody listens there any more; is the program running?".to_owned()
        }
        ErrorKind::NotFound => "it is gone; has the program ended?".to_owned(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            format!("no answer within {} seconds", PATIENCE.as_secs())
        }
        ErrorKind::PermissionDenied => {
            "only the user that the program runs as may connect".to_owned()
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests;
