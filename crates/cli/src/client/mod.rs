//! A server whose client a command is, or one of several: how it is reached, and what its errors
//! mean.
//!
//! Without an authority the connection is plain, as on one machine; with one it is TLS, and the
//! server has to show a certificate that the authority has signed for its host.

use std::error::Error;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::config::{LoadBalanceHosts, SslMode};
use tokio_postgres::{Client, Config, Error as ClientError, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::outcome::Failure;

/// Where a password may stand that is not in the connection.
const PASSWORD: &str = "PGPASSWORD";

/// Classes of errors that pass: connections, locks and conflicts, resources, an operator.
const PASSING: [&str; 4] = ["08", "40", "53", "57"];

/// A server, or several of a group.
pub(crate) struct Server {
    config: Config,
    tls: Option<MakeRustlsConnect>,
}

impl Server {
    /// As the command line says it; `name` is what the command is called there.
    ///
    /// # Errors
    /// What cannot be read.
    pub(crate) fn of(
        name: &str,
        connection: &str,
        authority: Option<&Path>,
    ) -> Result<Self, Failure> {
        let wrong = |error: &dyn Error| {
            Failure::Usage(format!("the connection cannot be read: {}", with_causes(error)))
        };
        let mut config: Config = connection.parse().map_err(|error: ClientError| wrong(&error))?;
        if config.get_application_name().is_none() {
            config.application_name(name);
        }
        if let (None, Ok(password)) = (config.get_password(), std::env::var(PASSWORD)) {
            config.password(password);
        }
        let tls = authority.map(tls).transpose()?;
        if tls.is_some() {
            config.ssl_mode(SslMode::Require);
        }
        Ok(Self { config, tls })
    }

    /// Connects, and keeps the connection going until the client is dropped.
    ///
    /// # Errors
    /// The client's.
    pub(crate) async fn connect(&self) -> Result<Client, ClientError> {
        self.connect_by(&self.config).await
    }

    /// The same to whichever of the servers comes first by chance.
    ///
    /// # Errors
    /// The client's.
    pub(crate) async fn connect_to_any(&self) -> Result<Client, ClientError> {
        let mut config = self.config.clone();
        config.load_balance_hosts(LoadBalanceHosts::Random);
        self.connect_by(&config).await
    }

    /// How many servers there are.
    pub(crate) fn count(&self) -> usize {
        self.config.get_hosts().len().max(self.config.get_hostaddrs().len())
    }

    async fn connect_by(&self, config: &Config) -> Result<Client, ClientError> {
        match &self.tls {
            None => {
                let (client, connection) = config.connect(NoTls).await?;
                tokio::spawn(connection);
                Ok(client)
            }
            Some(tls) => {
                let (client, connection) = config.connect(tls.clone()).await?;
                tokio::spawn(connection);
                Ok(client)
            }
        }
    }
}

/// TLS with servers whose certificates this authority has signed.
fn tls(authority: &Path) -> Result<MakeRustlsConnect, Failure> {
    let refused = |error: &dyn fmt::Display| {
        Failure::Refused(format!("error: {}: {error}", authority.display()))
    };
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(authority).map_err(|error| refused(&error))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| refused(&error))?;
        roots.add(certificate).map_err(|error| refused(&error))?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| refused(&error))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

/// Whether the same may be tried again: the server went away, or was too busy.
pub(crate) fn is_passing(error: &ClientError) -> bool {
    match error.as_db_error() {
        Some(said) => PASSING.iter().any(|class| said.code().code().starts_with(class)),
        None => true,
    }
}

/// An error as it is printed.
pub(crate) fn said(error: &ClientError) -> String {
    let Some(said) = error.as_db_error() else {
        return format!("error: {}", with_causes(error));
    };
    let mut text = format!("error: {} ({})", said.message(), said.code().code());
    for (word, more) in [("detail", said.detail()), ("hint", said.hint())] {
        if let Some(more) = more {
            text += &format!("\n{word}: {more}");
        }
    }
    text
}

/// An error and what caused it.
fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}
