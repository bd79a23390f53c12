//! Messages of the server, appended to what is to be sent.
//!
//! A message is written where it is sent from: its length is put in once its body stands there.

use bytes::{BufMut, BytesMut};
use remanent_sql::{Error, Notice, Notification, TransactionStatus};

/// Appends a message of this kind with what `body` writes.
pub(crate) fn message(out: &mut BytesMut, kind: u8, body: impl FnOnce(&mut BytesMut)) {
    out.put_u8(kind);
    sized(out, body);
}

/// Appends a length that counts itself, and what it is the length of.
fn sized(out: &mut BytesMut, body: impl FnOnce(&mut BytesMut)) {
    let start = out.len();
    out.put_u32(0);
    body(out);
    let length = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// Appends text and the zero that ends it; zeros within end it sooner.
pub(crate) fn put_text(out: &mut BytesMut, text: &str) {
    let end = text.bytes().position(|byte| byte == 0).unwrap_or(text.len());
    out.put_slice(&text.as_bytes()[..end]);
    out.put_u8(0);
}

pub(crate) fn authentication(out: &mut BytesMut, code: u32, data: &[u8]) {
    message(out, b'R', |out| {
        out.put_u32(code);
        out.put_slice(data);
    });
}

pub(crate) fn parameter_status(out: &mut BytesMut, name: &str, value: &str) {
    message(out, b'S', |out| {
        put_text(out, name);
        put_text(out, value);
    });
}

pub(crate) fn key_data(out: &mut BytesMut, process: i32, secret: &[u8]) {
    message(out, b'K', |out| {
        out.put_i32(process);
        out.put_slice(secret);
    });
}

/// What is understood of a newer version of the protocol.
pub(crate) fn negotiate(out: &mut BytesMut, minor: u32, unknown: &[&str]) {
    message(out, b'v', |out| {
        out.put_u32(minor);
        out.put_u32(unknown.len() as u32);
        unknown.iter().for_each(|name| put_text(out, name));
    });
}

pub(crate) fn ready(out: &mut BytesMut, status: TransactionStatus) {
    let letter = match status {
        TransactionStatus::Idle => b'I',
        TransactionStatus::Active => b'T',
        TransactionStatus::Failed => b'E',
    };
    message(out, b'Z', |out| out.put_u8(letter));
}

/// A message that is its kind alone.
pub(crate) fn bare(out: &mut BytesMut, kind: u8) {
    message(out, kind, |_| {});
}

pub(crate) const PARSE_COMPLETE: u8 = b'1';
pub(crate) const BIND_COMPLETE: u8 = b'2';
pub(crate) const CLOSE_COMPLETE: u8 = b'3';
pub(crate) const NO_DATA: u8 = b'n';
pub(crate) const EMPTY_QUERY: u8 = b'I';
pub(crate) const PORTAL_SUSPENDED: u8 = b's';
pub(crate) const COPY_DONE: u8 = b'c';

pub(crate) fn complete(out: &mut BytesMut, tag: &str) {
    message(out, b'C', |out| put_text(out, tag));
}

pub(crate) fn parameter_description(out: &mut BytesMut, types: impl ExactSizeIterator<Item = u32>) {
    message(out, b't', |out| {
        out.put_u16(types.len() as u16);
        types.for_each(|oid| out.put_u32(oid));
    });
}

/// The start of a copy in one of both directions, as text or in binary.
pub(crate) fn copy_begins(out: &mut BytesMut, kind: u8, columns: usize, is_binary: bool) {
    let format = u8::from(is_binary);
    message(out, kind, |out| {
        out.put_u8(format);
        out.put_u16(columns as u16);
        (0..columns).for_each(|_| out.put_u16(u16::from(format)));
    });
}

pub(crate) const COPY_IN: u8 = b'G';
pub(crate) const COPY_OUT: u8 = b'H';

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Severity {
    Fatal,
    Error,
}

pub(crate) fn error(out: &mut BytesMut, severity: Severity, error: &Error) {
    let word = match severity {
        Severity::Fatal => "FATAL",
        Severity::Error => "ERROR",
    };
    message(out, b'E', |out| {
        let position = error.position().map(|position| position.to_string());
        fields(out, word, error.state().as_str(), error.message());
        let subject = error.subject();
        let more = [
            (b'D', error.detail_text()),
            (b'H', error.hint_text()),
            (b'P', position.as_deref()),
            (b's', subject.schema.as_deref()),
            (b't', subject.table.as_deref()),
            (b'c', subject.column.as_deref()),
            (b'n', subject.constraint.as_deref()),
            (b'R', error.routine()),
        ];
        for (field, text) in more {
            let Some(text) = text else { continue };
            out.put_u8(field);
            put_text(out, text);
        }
        out.put_u8(0);
    });
}

pub(crate) fn notice(out: &mut BytesMut, notice: &Notice) {
    message(out, b'N', |out| {
        fields(out, notice.severity.word(), notice.state.as_str(), &notice.text);
        out.put_u8(0);
    });
}

/// What another session, or the database itself, has said.
pub(crate) fn notification(out: &mut BytesMut, notification: &Notification) {
    message(out, b'A', |out| {
        out.put_i32(notification.process);
        put_text(out, &notification.channel);
        put_text(out, &notification.payload);
    });
}

fn fields(out: &mut BytesMut, severity: &str, state: &str, text: &str) {
    // The severity twice: in the client's language, and as it is.
    for (field, text) in [(b'S', severity), (b'V', severity), (b'C', state), (b'M', text)] {
        out.put_u8(field);
        put_text(out, text);
    }
}
