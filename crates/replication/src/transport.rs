//! How messages come to another replica: a trait, and TCP with TLS.
//!
//! A connection carries one request after the other; each is a length of four bytes and so many
//! bytes, and so is its answer. Where replicas are not all on one machine, both sides show a
//! certificate that the group's authority has signed.

use std::fmt::Debug;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use async_trait::async_trait;
use bytes::Bytes;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufStream, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::wire::MESSAGE_MAX;

/// A way to other replicas.
#[async_trait]
pub trait Transport: Debug + Send + Sync {
    /// Connects to the replica at an address.
    ///
    /// # Errors
    /// The system's, or that of TLS.
    async fn connect(&self, address: &str) -> io::Result<Box<dyn Connection>>;

    /// Answers whoever connects to an address, until the future is dropped.
    ///
    /// # Errors
    /// If nobody can connect there.
    async fn serve(&self, address: &str, service: Arc<dyn Service>) -> io::Result<()>;
}

/// A connection to another replica.
#[async_trait]
pub trait Connection: Debug + Send + Sync {
    /// Sends a request and waits for the answer. After an error, or if it is given up, the
    /// connection is of no use.
    ///
    /// # Errors
    /// The system's, or that of TLS.
    async fn call(&mut self, request: Bytes) -> io::Result<Bytes>;
}

/// What answers requests.
#[async_trait]
pub trait Service: Debug + Send + Sync {
    /// The answer to a request.
    async fn answer(&self, request: Bytes) -> Bytes;
}

/// The certificates of a replica.
///
/// # Examples
/// ```
/// use remanent_replication::Certificates;
/// let missing = Certificates::from_files("no-such.crt", "no-such.key", "no-such-ca.crt");
/// assert!(missing.is_err());
/// ```
#[derive(Clone)]
pub struct Certificates {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

impl Debug for Certificates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Certificates")
    }
}

impl Certificates {
    /// Of files in PEM format: this replica's certificate, its key, and the certificate of the
    /// authority that has signed those of all replicas.
    ///
    /// # Errors
    /// If a file cannot be read, or has not what it should.
    pub fn from_files(
        certificate: impl AsRef<std::path::Path>,
        key: impl AsRef<std::path::Path>,
        authority: impl AsRef<std::path::Path>,
    ) -> io::Result<Self> {
        let read = |path: &std::path::Path| {
            let named = |error: io::Error| {
                io::Error::new(error.kind(), format!("{}: {error}", path.display()))
            };
            std::fs::read(path).map_err(named)
        };
        Self::from_pem(
            &read(certificate.as_ref())?,
            &read(key.as_ref())?,
            &read(authority.as_ref())?,
        )
    }

    /// As [`Certificates::from_files`], of what stands in them.
    ///
    /// # Errors
    /// As there.
    pub fn from_pem(certificate: &[u8], key: &[u8], authority: &[u8]) -> io::Result<Self> {
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(certificate)
            .collect::<Result<_, _>>()
            .map_err(invalid)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(invalid)?;
        let mut roots = RootCertStore::empty();
        for root in CertificateDer::pem_slice_iter(authority) {
            roots.add(root.map_err(invalid)?).map_err(invalid)?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let roots = Arc::new(roots);
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider))
                .build()
                .map_err(invalid)?;
        let client = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(invalid)?
            .with_root_certificates(roots)
            .with_client_auth_cert(chain.clone(), key.clone_key())
            .map_err(invalid)?;
        let server = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(invalid)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain, key)
            .map_err(invalid)?;
        Ok(Self { client: Arc::new(client), server: Arc::new(server) })
    }
}

/// A connection of bytes, with or without TLS.
pub trait ByteStream: AsyncRead + AsyncWrite + Unpin + Debug + Send + Sync + 'static {}

impl<S: AsyncRead + AsyncWrite + Unpin + Debug + Send + Sync + 'static> ByteStream for S {}

/// How a connection of HTTP/2 begins, which is no length of a message.
const HTTP: [u8; 4] = *b"PRI ";
const _: () = assert!(u32::from_le_bytes(HTTP) as usize > MESSAGE_MAX);

/// Whoever answers connections of HTTP/2.
#[derive(Clone)]
struct Http(Arc<dyn Fn(Box<dyn ByteStream>) + Send + Sync>);

impl Debug for Http {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Http")
    }
}

/// TCP, with TLS or on one machine alone.
#[derive(Clone, Debug, Default)]
pub struct Tcp {
    certificates: Option<Certificates>,
    http: Option<Http>,
}

impl Tcp {
    /// Without certificates it connects and answers on loopback addresses only.
    pub fn new(certificates: Option<Certificates>) -> Self {
        Self { certificates, http: None }
    }

    /// The same, which gives connections that speak HTTP/2 to somebody else.
    pub fn with_http(self, answer: impl Fn(Box<dyn ByteStream>) + Send + Sync + 'static) -> Self {
        Self { http: Some(Http(Arc::new(answer))), ..self }
    }

    /// A connection for somebody else, made as those of replicas are.
    ///
    /// # Errors
    /// The system's, or that of TLS.
    pub async fn open(&self, address: &str) -> io::Result<Box<dyn ByteStream>> {
        let stream = TcpStream::connect(address).await?;
        self.check(stream.peer_addr()?)?;
        stream.set_nodelay(true)?;
        let Some(certificates) = &self.certificates else { return Ok(Box::new(stream)) };
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let name = ServerName::try_from(host).map_err(invalid)?;
        let connector = TlsConnector::from(Arc::clone(&certificates.client));
        Ok(Box::new(BufStream::new(connector.connect(name, stream).await?)))
    }

    fn check(&self, address: SocketAddr) -> io::Result<()> {
        if self.certificates.is_some() || is_loopback(address.ip()) {
            return Ok(());
        }
        let text = format!("{address} is another machine: replicas need certificates there");
        Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
    }
}

#[async_trait]
impl Transport for Tcp {
    async fn connect(&self, address: &str) -> io::Result<Box<dyn Connection>> {
        Ok(Box::new(Framed(self.open(address).await?)))
    }

    async fn serve(&self, address: &str, service: Arc<dyn Service>) -> io::Result<()> {
        let listener = TcpListener::bind(address).await?;
        self.check(listener.local_addr()?)?;
        // Connections end with the listener.
        let mut open = tokio::task::JoinSet::new();
        loop {
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "a replica could not be let in");
                    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                    continue;
                }
            };
            while open.try_join_next().is_some() {}
            let (service, tcp) = (Arc::clone(&service), self.clone());
            open.spawn(async move {
                if let Err(error) = answer_all(stream, tcp, service).await {
                    tracing::debug!(%error, "a connection of a replica has ended");
                }
            });
        }
    }
}

async fn answer_all(stream: TcpStream, tcp: Tcp, service: Arc<dyn Service>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    match tcp.certificates {
        None => answer_on(stream, tcp.http, service).await,
        Some(certificates) => {
            let acceptor = TlsAcceptor::from(certificates.server);
            let accepting = acceptor.accept(stream);
            let limit = std::time::Duration::from_secs(10);
            let stream = tokio::time::timeout(limit, accepting).await.map_err(timed_out)??;
            answer_on(BufStream::new(stream), tcp.http, service).await
        }
    }
}

async fn answer_on<S: ByteStream>(
    mut stream: S,
    http: Option<Http>,
    service: Arc<dyn Service>,
) -> io::Result<()> {
    let mut first = [0; 4];
    stream.read_exact(&mut first).await?;
    let stream = Begun { first, seen: 0, stream };
    if let (HTTP, Some(Http(answer))) = (first, &http) {
        answer(Box::new(stream));
        return Ok(());
    }
    let mut stream = Framed(stream);
    while let Some(request) = stream.receive().await? {
        let answer = service.answer(request).await;
        stream.send(&answer).await?;
    }
    Ok(())
}

/// A stream of which the first bytes have been read, and come again.
#[derive(Debug)]
struct Begun<S> {
    first: [u8; 4],
    /// How many of them have come.
    seen: usize,
    stream: S,
}

impl<S: ByteStream> AsyncRead for Begun<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let left = &self.first[self.seen..];
        if left.is_empty() {
            return Pin::new(&mut self.stream).poll_read(context, buffer);
        }
        let taken = left.len().min(buffer.remaining());
        buffer.put_slice(&left[..taken]);
        self.seen += taken;
        Poll::Ready(Ok(()))
    }
}

impl<S: ByteStream> AsyncWrite for Begun<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// A stream of messages.
#[derive(Debug)]
struct Framed<S>(S);

impl<S: AsyncRead + AsyncWrite + Unpin> Framed<S> {
    async fn send(&mut self, message: &[u8]) -> io::Result<()> {
        let mut framed = Vec::with_capacity(4 + message.len());
        framed.extend_from_slice(&(message.len() as u32).to_le_bytes());
        framed.extend_from_slice(message);
        self.0.write_all(&framed).await?;
        self.0.flush().await
    }

    /// The next message; `None` if the other side has ended between two.
    async fn receive(&mut self) -> io::Result<Option<Bytes>> {
        let mut length = [0; 4];
        match self.0.read_exact(&mut length).await {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        };
        let length = u32::from_le_bytes(length) as usize;
        if length > MESSAGE_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a message is too long"));
        }
        // What is announced and does not come takes no memory.
        let mut message = Vec::with_capacity(length.min(64 << 10));
        let read = (&mut self.0).take(length as u64).read_to_end(&mut message).await?;
        if read < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Some(message.into()))
    }
}

#[async_trait]
impl<S: AsyncRead + AsyncWrite + Unpin + Debug + Send + Sync> Connection for Framed<S> {
    async fn call(&mut self, request: Bytes) -> io::Result<Bytes> {
        self.send(&request).await?;
        self.receive().await?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

fn is_loopback(address: IpAddr) -> bool {
    address.is_loopback() || address.to_canonical().is_loopback()
}

fn invalid(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, error)
}

fn timed_out(_: tokio::time::error::Elapsed) -> io::Error {
    io::ErrorKind::TimedOut.into()
}
