//! Addresses to listen at, and which of them may be listened at.
//!
//! Beyond this machine only those are let in who prove who they are, over TLS: a server that could
//! do neither does not start.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};

use crate::options::Options;
use crate::wire::socket::Socket;

/// The port that clients of PostgreSQL try.
const PORT: u16 = 5432;

/// Where connections come in.
#[derive(Debug)]
pub(crate) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, PathBuf),
}

impl Listener {
    /// Listens at an address, as flags have it.
    pub(crate) fn bind(text: &str, options: &Options) -> Result<Vec<Self>, String> {
        let said = |error: io::Error| match error.kind() {
            io::ErrorKind::AddrInUse => {
                format!("cannot listen at {text}: {error}; --listen takes another address")
            }
            _ => format!("cannot listen at {text}: {error}"),
        };
        if let Some(folder) = text.strip_prefix("unix:") {
            return Ok(vec![unix(folder).map_err(said)?]);
        }
        let has_port = text.rsplit_once(':').is_some_and(|(host, port)| {
            port.parse::<u16>().is_ok() && (!host.contains(':') || host.ends_with(']'))
        });
        let full = if has_port { text.to_owned() } else { format!("{text}:{PORT}") };
        let addresses: Vec<SocketAddr> = full.to_socket_addrs().map_err(said)?.collect();
        let mut listeners = Vec::new();
        for address in &addresses {
            check(text, *address, options)?;
            match TcpListener::bind(address) {
                Ok(listener) => listeners.push(Self::Tcp(listener)),
                // A name may have addresses that this machine does not have.
                Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => {}
                Err(error) => return Err(said(error)),
            }
        }
        match listeners.is_empty() {
            true => Err(format!("cannot listen at {text}: this machine has no such address")),
            false => Ok(listeners),
        }
    }

    /// The address, as a flag would have it.
    pub(crate) fn address(&self) -> String {
        match self {
            Self::Tcp(listener) => {
                listener.local_addr().map_or_else(|_| String::new(), |address| address.to_string())
            }
            Self::Unix(_, path) => format!("unix:{}", path.display()),
        }
    }

    /// Waits for a connection.
    pub(crate) fn accept(&self) -> io::Result<Socket> {
        Ok(match self {
            Self::Tcp(listener) => {
                let (socket, _) = listener.accept()?;
                // One that is gone already is found out soon enough.
                let _ = socket.set_nodelay(true);
                let _ = SockRef::from(&socket).set_tcp_keepalive(&keepalive());
                Socket::Tcp(socket)
            }
            Self::Unix(listener, _) => Socket::Unix(listener.accept()?.0),
        })
    }

    /// Whether a connection comes from another machine, as far as this side of it says.
    pub(crate) fn is_far(socket: &Socket) -> bool {
        match socket {
            Socket::Tcp(socket) => {
                !socket.peer_addr().is_ok_and(|peer| peer.ip().to_canonical().is_loopback())
            }
            Socket::Unix(_) => false,
        }
    }

    /// Wakes whoever waits for a connection, with one.
    pub(crate) fn wake(address: &str) {
        // Who is gone needs no waking.
        match address.strip_prefix("unix:") {
            Some(path) => drop(UnixStream::connect(path)),
            None => drop(TcpStream::connect(address)),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Self::Unix(_, path) = self {
            // Somebody else may have removed it.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Peers that died are noticed within two minutes.
fn keepalive() -> TcpKeepalive {
    let keepalive = TcpKeepalive::new().with_time(Duration::from_secs(60));
    keepalive.with_interval(Duration::from_secs(10)).with_retries(6)
}

fn check(text: &str, address: SocketAddr, options: &Options) -> Result<(), String> {
    if address.ip().to_canonical().is_loopback() {
        return Ok(());
    }
    let why = if options.trust {
        "clients are trusted without a password (--trust)"
    } else if options.tls.is_none() {
        "there is no TLS, so what is sent could be read (--certificate, --key)"
    } else {
        return Ok(());
    };
    Err(format!("does not listen at {text}, which other machines reach: {why}"))
}

/// The name under which clients look for a socket of this port in a folder.
fn socket_name(port: u16) -> String {
    format!(".s.PGSQL.{port}")
}

/// A socket in a folder, `folder` or `folder:port`.
fn unix(text: &str) -> io::Result<Listener> {
    let (folder, port) = match text.rsplit_once(':') {
        Some((folder, port)) if port.parse::<u16>().is_ok() => {
            (folder, port.parse().unwrap_or(PORT))
        }
        _ => (text, PORT),
    };
    let path = Path::new(folder).join(socket_name(port));
    let is_socket =
        std::fs::symlink_metadata(&path).is_ok_and(|found| found.file_type().is_socket());
    // A socket at which nobody listens was left behind by a server that was killed.
    if is_socket && UnixStream::connect(&path).is_err() {
        std::fs::remove_file(&path)?;
    }
    let listener = UnixListener::bind(&path)?;
    Ok(Listener::Unix(listener, path))
}
