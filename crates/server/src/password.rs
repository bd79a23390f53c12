//! Passwords that a program makes, for the first role of a database.
//!
//! They are shown once and never stored; the database keeps what proves them, as of any other.

/// Letters and digits that people do not mistake for each other: 32, so that each is five bits.
const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

const LEN: usize = 24;

/// A password of 24 characters, each as likely as any other: 120 bits that nobody guesses.
///
/// # Examples
/// ```
/// let password = remanent_server::random_password();
/// assert_eq!(password.len(), 24);
/// assert_ne!(password, remanent_server::random_password());
/// ```
pub fn random_password() -> String {
    let bytes: [u8; LEN] = rand::random();
    bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect()
}
