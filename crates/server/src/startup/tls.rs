//! TLS: a certificate and its key, read from files.
//!
//! The files are read once, when the server starts; clients show no certificates.

use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// What TLS begins with.
///
/// # Errors
/// Files that cannot be read or do not hold a chain of certificates and its key.
pub(crate) fn config(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, String> {
    let said = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let chain = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect);
    let chain: Vec<CertificateDer<'static>> = chain.map_err(|error| said(certificate, &error))?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| said(key, &error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.and_then(|config| {
        let mut config = config.with_no_client_auth().with_single_cert(chain, private)?;
        config.alpn_protocols = vec![b"postgresql".to_vec()];
        Ok(config)
    });
    config.map(Arc::new).map_err(|error| said(certificate, &error))
}
