//! A server in memory for a test, and clients for it.

use std::sync::Arc;

use remanent_server::{Options, Server};
use remanent_sql::SqlDatabase;
use tokio_postgres::{Client, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

pub(crate) struct Running {
    pub(crate) server: Option<Server>,
    pub(crate) database: Arc<SqlDatabase>,
    pub(crate) port: u16,
}

impl Running {
    pub(crate) fn start(change: impl FnOnce(Options) -> Options) -> Self {
        Self::of(SqlDatabase::in_memory().unwrap(), change)
    }

    pub(crate) fn of(database: Arc<SqlDatabase>, change: impl FnOnce(Options) -> Options) -> Self {
        let options = change(Options::new().listen("127.0.0.1:0"));
        let server = Server::start(Arc::clone(&database), options).unwrap();
        let port = server.addresses()[0].rsplit_once(':').unwrap().1.parse().unwrap();
        Self { server: Some(server), database, port }
    }

    pub(crate) fn trusting() -> Self {
        Self::start(|options| options.trust(true))
    }

    /// One with a certificate for this test, and TLS that trusts it.
    pub(crate) fn over_tls() -> (Self, MakeRustlsConnect) {
        let folder = tempfile::tempdir().unwrap();
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let (certificate, key) = (folder.path().join("certificate"), folder.path().join("key"));
        std::fs::write(&certificate, made.cert.pem()).unwrap();
        std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        let mut roots = rustls::RootCertStore::empty();
        roots.add(made.cert.der().clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let running = Self::start(|options| options.certificate(certificate, key));
        (running, MakeRustlsConnect::new(config))
    }

    /// How it is reached over TLS.
    pub(crate) fn tls_settings(&self, user: &str) -> String {
        let there = "hostaddr=127.0.0.1 host=localhost sslmode=require dbname=db";
        format!("{there} port={} user={user} password=secret", self.port)
    }

    pub(crate) fn settings(&self, user: &str) -> String {
        format!("host=127.0.0.1 port={} user={user} password=secret dbname=db", self.port)
    }

    pub(crate) async fn client(&self) -> Client {
        self.client_as("tester").await.unwrap()
    }

    pub(crate) async fn client_as(&self, user: &str) -> Result<Client, tokio_postgres::Error> {
        let (client, connection) = tokio_postgres::connect(&self.settings(user), NoTls).await?;
        tokio::spawn(connection);
        Ok(client)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop();
        }
    }
}

pub(crate) fn state(error: &tokio_postgres::Error) -> &str {
    error.code().map_or("", |code| code.code())
}
