//! Where an exporter listens: a socket in a folder, or an address.
//!
//! A socket's file outlives a process that was killed, so one that nobody answers at is replaced;
//! one that is answered at is somebody else's, and a file that is no socket is left alone. Only the
//! user that the process runs as may connect. Addresses that other machines can reach are refused
//! unless the program says that it means them: there is no encryption and no authentication.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use crate::connection::Stream;

/// The name of the socket in a database's folder.
pub const SOCKET_NAME: &str = "metrics.sock";

/// The address that an exporter listens at.
///
/// # Examples
/// ```
/// use remanent_exporter::Listen;
/// let local = Listen::port(9187);
/// let in_folder = Listen::folder("/var/lib/shop");
/// # let _ = (local, in_folder);
/// ```
#[derive(Clone, Debug)]
pub struct Listen(Address);

#[derive(Clone, Debug)]
enum Address {
    Socket(PathBuf),
    Loopback(SocketAddr),
    Anywhere(SocketAddr),
}

impl Listen {
    /// At a Unix socket in the folder of a database, where `remanent top` looks for it.
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// use remanent_engine::{Database, Options};
    /// use remanent_exporter::{Exporter, Listen};
    /// # let folder = std::env::temp_dir().join(format!("rem-listen-{}", std::process::id()));
    /// let db = Arc::new(Database::open_at(&folder, Options::new())?);
    /// let exporter = Exporter::start(Arc::clone(&db), Listen::folder(&folder))?;
    /// assert!(folder.join("metrics.sock").exists());
    /// drop(exporter);
    /// assert!(!folder.join("metrics.sock").exists());
    /// # drop(db);
    /// # std::fs::remove_dir_all(&folder).ok();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn folder(path: impl AsRef<Path>) -> Self {
        Self::socket(path.as_ref().join(SOCKET_NAME))
    }

    /// At a Unix socket with this path.
    ///
    /// # Examples
    /// ```
    /// let listen = remanent_exporter::Listen::socket("/run/shop/metrics.sock");
    /// # let _ = listen;
    /// ```
    pub fn socket(path: impl Into<PathBuf>) -> Self {
        Self(Address::Socket(path.into()))
    }

    /// At a TCP port of 127.0.0.1; 0 is any that is free.
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use remanent_engine::{Database, Options};
    /// # use remanent_exporter::{Exporter, Listen};
    /// # let db = Arc::new(Database::open(Options::new())?);
    /// let exporter = Exporter::start(db, Listen::port(0))?;
    /// assert_ne!(exporter.address().expect("it listens at one").port(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn port(port: u16) -> Self {
        Self::address((Ipv4Addr::LOCALHOST, port).into())
    }

    /// At an address of this machine's own; [`Exporter::start`](crate::Exporter::start) refuses one
    /// that others can reach.
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use remanent_engine::{Database, Options};
    /// # use remanent_exporter::{Exporter, Listen};
    /// # let db = Arc::new(Database::open(Options::new())?);
    /// let open_to_all = Listen::address("0.0.0.0:0".parse()?);
    /// assert!(Exporter::start(db, open_to_all).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn address(address: SocketAddr) -> Self {
        Self(Address::Loopback(address))
    }

    /// At any address. Whoever can reach it may read the metrics, which have the names of tables,
    /// indexes and transactions.
    ///
    /// # Examples
    /// ```
    /// # fn f() -> Result<(), std::net::AddrParseError> {
    /// let listen = remanent_exporter::Listen::open_address("10.0.0.7:9187".parse()?);
    /// # let _ = listen;
    /// # Ok(())
    /// # }
    /// ```
    pub fn open_address(address: SocketAddr) -> Self {
        Self(Address::Anywhere(address))
    }

    pub(crate) fn bind(&self) -> io::Result<Listener> {
        let listener = match &self.0 {
            Address::Socket(path) => return bind_socket(path).map_err(|error| at(path, &error)),
            Address::Loopback(address) if !address.ip().is_loopback() => {
                return Err(io::Error::new(
                    ErrorKind::PermissionDenied,
                    format!(
                        "{address} can be reached from other machines, which `open_address` allows"
                    ),
                ));
            }
            Address::Loopback(address) | Address::Anywhere(address) => TcpListener::bind(address)?,
        };
        listener.set_nonblocking(true)?;
        Ok(Listener::Tcp(listener))
    }
}

/// A bound socket. What a Unix one leaves in the file system goes when it is dropped.
#[derive(Debug)]
pub(crate) enum Listener {
    Tcp(TcpListener),
    Unix { listener: UnixListener, file: SocketFile },
}

/// The file of a Unix socket, and which file it was.
#[derive(Debug)]
pub(crate) struct SocketFile {
    pub(crate) path: PathBuf,
    identity: (u64, u64),
}

impl Listener {
    pub(crate) fn accept(&self) -> io::Result<Box<dyn Stream>> {
        match self {
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(true)?;
                Ok(Box::new(stream))
            }
            Self::Unix { listener, .. } => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(true)?;
                Ok(Box::new(stream))
            }
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(listener) => listener.as_fd(),
            Self::Unix { listener, .. } => listener.as_fd(),
        }
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Somebody else may have put another there meanwhile.
        if identity(&self.path).is_ok_and(|now| now == self.identity) {
            // Who comes next replaces it if this fails.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn bind_socket(path: &Path) -> io::Result<Listener> {
    remove_stale(path)?;
    let listener = UnixListener::bind(path)?;
    let file = SocketFile { path: path.to_owned(), identity: identity(path)? };
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    Ok(Listener::Unix { listener, file })
}

/// Removes the file of a socket that nobody listens at any more.
fn remove_stale(path: &Path) -> io::Result<()> {
    let kind = match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        found => found?.file_type(),
    };
    if !kind.is_socket() {
        return Err(io::Error::new(ErrorKind::AlreadyExists, "there is a file that is no socket"));
    }
    match UnixStream::connect(path) {
        Ok(_) => Err(io::Error::new(ErrorKind::AddrInUse, "somebody exports there already")),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => std::fs::remove_file(path),
        Err(error) => Err(error),
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let metadata = std::fs::symlink_metadata(path)?;
    Ok((metadata.dev(), metadata.ino()))
}

fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
