//! SCRAM-SHA-256 (RFC 5802, RFC 7677), the server's part.
//!
//! Only what proves a password is stored, so whoever reads the database cannot log in with it. A
//! user that does not exist is asked just as one that does: the answer comes after the proof.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use crate::wire::ConnectionError;
use crate::wire::backend;
use crate::wire::channel::Channel;
use crate::wire::frontend::{Message, sasl_first};

const MECHANISM: &str = "SCRAM-SHA-256";
const KEY_BYTES: usize = 32;
/// Of a role that does not exist, what other roles have.
const ITERATIONS: &str = "4096";
const SALT_BYTES: usize = 16;

const REQUEST: u32 = 10;
const CONTINUE: u32 = 11;
const FINAL: u32 = 12;

type Key = [u8; KEY_BYTES];

/// What is stored of a password: `SCRAM-SHA-256$<iterations>:<salt>$<stored key>:<server key>`.
struct Verifier {
    iterations: String,
    salt: String,
    stored_key: Key,
    server_key: Key,
}

impl Verifier {
    fn read(text: &str) -> Option<Self> {
        let mut parts = text.split('$');
        if parts.next()? != MECHANISM {
            return None;
        }
        let (iterations, salt) = parts.next()?.split_once(':')?;
        let (stored, server) = parts.next()?.split_once(':')?;
        let key = |text: &str| Key::try_from(BASE64.decode(text).ok()?).ok();
        Some(Self {
            iterations: iterations.to_owned(),
            salt: salt.to_owned(),
            stored_key: key(stored)?,
            server_key: key(server)?,
        })
    }

    /// Looks like one and fits no password.
    fn of_nobody(nobody: Nobody<'_>) -> Self {
        Self {
            iterations: ITERATIONS.to_owned(),
            salt: BASE64.encode(&nobody.key("salt")[..SALT_BYTES]),
            stored_key: nobody.key("stored"),
            server_key: nobody.key("server"),
        }
    }
}

/// A client under a name that is no role: what it is asked comes from a secret of the database, the
/// same each time, as it is for a role.
#[derive(Clone, Copy)]
pub(super) struct Nobody<'n> {
    pub(super) secret: &'n str,
    pub(super) user: &'n str,
}

impl Nobody<'_> {
    fn key(self, purpose: &str) -> Key {
        let secret: Key = Sha256::digest(self.secret).into();
        keyed(&secret, format!("{purpose}\0{}", self.user).as_bytes())
            .finalize()
            .into_bytes()
            .into()
    }
}

/// Asks for the proof of a password; whether it was given.
///
/// # Errors
/// A client that is gone or does not speak the mechanism.
pub(super) fn exchange(
    channel: &mut Channel,
    verifier: Option<&str>,
    nobody: Nobody<'_>,
) -> Result<bool, ConnectionError> {
    let known = verifier.and_then(Verifier::read);
    let is_known = known.is_some();
    let verifier = known.unwrap_or_else(|| Verifier::of_nobody(nobody));
    let offer = format!("{MECHANISM}\0\0");
    backend::authentication(&mut channel.out, REQUEST, offer.as_bytes());
    let (mechanism, first) = sasl_first(password(channel)?)?;
    if mechanism != MECHANISM {
        return Err(ConnectionError::Protocol("a mechanism that was not offered"));
    }
    let first = text(&first)?;
    // The channel is not bound: the client cannot ("n"), or thinks that we cannot ("y").
    let bare = first.strip_prefix("n,").or_else(|| first.strip_prefix("y,"));
    let bare = bare.and_then(|rest| rest.split_once(',')).map(|(_, bare)| bare);
    let bare = bare.ok_or(BAD)?;
    // An extension that the client insists on (RFC 5802, section 5.1) is one that we do not have.
    if bare.starts_with("m=") {
        return Err(ConnectionError::Protocol(
            "a mandatory extension of SCRAM, of which there is none",
        ));
    }
    let header = &first[..first.len() - bare.len()];
    let client_nonce = attribute(bare, "r=").ok_or(BAD)?;
    let nonce = format!("{client_nonce}{}", BASE64.encode(rand::random::<[u8; 18]>()));
    let challenge = format!("r={nonce},s={},i={}", verifier.salt, verifier.iterations);
    backend::authentication(&mut channel.out, CONTINUE, challenge.as_bytes());
    let last = password(channel)?;
    let last = text(&last)?;
    let (unproved, proof) = last.rsplit_once(",p=").ok_or(BAD)?;
    if unproved.split(',').any(|attribute| attribute.starts_with("m=")) {
        return Err(ConnectionError::Protocol(
            "a mandatory extension of SCRAM, of which there is none",
        ));
    }
    let bound = attribute(unproved, "c=").and_then(|bound| BASE64.decode(bound).ok());
    if bound.as_deref() != Some(header.as_bytes()) || attribute(unproved, "r=") != Some(&nonce) {
        return Err(BAD);
    }
    let said = format!("{bare},{challenge},{unproved}");
    let proof = BASE64.decode(proof).ok().and_then(|proof| Key::try_from(proof).ok());
    let proved = proof.is_some_and(|proof| proves(&verifier.stored_key, &said, &proof));
    if !(proved && is_known) {
        return Ok(false);
    }
    let signature =
        BASE64.encode(keyed(&verifier.server_key, said.as_bytes()).finalize().into_bytes());
    backend::authentication(&mut channel.out, FINAL, format!("v={signature}").as_bytes());
    Ok(true)
}

const BAD: ConnectionError = ConnectionError::Protocol("a message that is not SCRAM");

fn password(channel: &mut Channel) -> Result<bytes::Bytes, ConnectionError> {
    match channel.next(None)? {
        Message::Password(body) => Ok(body),
        _ => Err(ConnectionError::Protocol("something else than the password that was asked for")),
    }
}

fn text(bytes: &[u8]) -> Result<&str, ConnectionError> {
    std::str::from_utf8(bytes).map_err(|_| BAD)
}

fn attribute<'t>(message: &'t str, name: &str) -> Option<&'t str> {
    message.split(',').find_map(|attribute| attribute.strip_prefix(name))
}

/// Whether a verifier is that of a password of ASCII characters; others may have been written in
/// several ways, and are not compared.
///
/// # Examples
/// ```
/// use remanent_sql::SqlDatabase;
/// let db = SqlDatabase::in_memory()?;
/// db.session().execute("create role ann password 'secret'")?;
/// let verifier = db.role("ann").and_then(|ann| ann.verifier).unwrap_or_default();
/// assert!(remanent_server::is_verifier_of(&verifier, "secret"));
/// assert!(!remanent_server::is_verifier_of(&verifier, "Secret"));
/// # Ok::<(), remanent_sql::Error>(())
/// ```
pub fn is_verifier_of(verifier: &str, password: &str) -> bool {
    let Some(known) = Verifier::read(verifier).filter(|_| password.is_ascii()) else {
        return false;
    };
    let (Ok(iterations), Ok(salt)) = (known.iterations.parse::<u32>(), BASE64.decode(&known.salt))
    else {
        return false;
    };
    // Hi() of RFC 5802: PBKDF2 with one block.
    let hashed = |message: &[u8]| -> Key {
        keyed(password.as_bytes(), message).finalize().into_bytes().into()
    };
    let mut round = hashed(&[&salt[..], &[0, 0, 0, 1]].concat());
    let mut salted = round;
    for _ in 1..iterations {
        round = hashed(&round);
        salted.iter_mut().zip(round).for_each(|(byte, other)| *byte ^= other);
    }
    let client_key: Key = keyed(&salted, b"Client Key").finalize().into_bytes().into();
    known.stored_key == Key::from(Sha256::digest(client_key))
}

fn keyed(key: &[u8], message: &[u8]) -> Hmac<Sha256> {
    match Hmac::<Sha256>::new_from_slice(key) {
        Ok(mac) => mac.chain_update(message),
        Err(_) => unreachable!("HMAC takes keys of any length"),
    }
}

/// Whether the proof, taken off the client's signature, is the key whose hash is stored.
fn proves(stored_key: &Key, said: &str, proof: &Key) -> bool {
    let signature = keyed(stored_key, said.as_bytes()).finalize().into_bytes();
    let mut client_key = *proof;
    client_key.iter_mut().zip(signature).for_each(|(byte, other)| *byte ^= other);
    // All bytes are compared, however early one differs.
    let found = Sha256::digest(client_key);
    found.iter().zip(stored_key).fold(0, |differences, (a, b)| differences | (a ^ b)) == 0
}

#[cfg(test)]
mod tests;
