//! Values of results, as they are sent.
//!
//! The type of the column decides the bytes of a number, not the value: a client counts on it.

use std::fmt::Write;
use std::io;

use bytes::{BufMut, BytesMut};
use remanent_sql::{Datum, Error, ResultColumn, SqlState, SqlType};

use super::{EPOCH_DAYS, EPOCH_MICROS, Format, decimal, oid};
use crate::wire::backend;
use crate::wire::channel::Channel;

/// Appends the description of a result's columns.
pub(crate) fn describe(out: &mut BytesMut, columns: &[ResultColumn], formats: &[u16]) {
    backend::message(out, b'T', |out| {
        out.put_u16(columns.len() as u16);
        for (place, column) in columns.iter().enumerate() {
            let oid = oid::of(&column.sql_type);
            backend::put_text(out, &column.name);
            // Neither table nor column number is sent.
            out.put_u32(0);
            out.put_u16(0);
            out.put_u32(oid);
            out.put_i16(oid::size(oid));
            out.put_i32(oid::modifier(&column.sql_type));
            out.put_u16(Format::of(formats, place).code());
        }
    });
}

/// Sends a row: appended to what is to be sent, but for large values, which go out from where
/// they are.
///
/// # Errors
/// `LIMIT_EXCEEDED` for a row that no message holds, `OUT_OF_MEMORY`; of the socket.
pub(crate) fn send_row(
    channel: &mut Channel,
    columns: &[ResultColumn],
    formats: &[u16],
    values: &[Datum],
) -> Result<io::Result<()>, Error> {
    if !values.iter().any(is_large) {
        row(&mut channel.out, columns, formats, values);
        return Ok(Ok(()));
    }
    let mut pieces = Vec::with_capacity(values.len());
    let mut length = 4 + 2;
    for (place, (datum, column)) in values.iter().zip(columns).enumerate() {
        let format = Format::of(formats, place);
        let piece = match (datum, format, &column.sql_type) {
            (Datum::Text(text), Format::Binary, SqlType::Uuid) if !is_large(datum) => {
                rendered(&Datum::Text(text.clone()), &SqlType::Uuid, format)
            }
            (Datum::Text(text), _, _) => Piece::AsItIs(text.as_bytes()),
            (Datum::Bytes(bytes), Format::Binary, _) => Piece::AsItIs(bytes),
            (Datum::Bytes(bytes), Format::Text, _) => Piece::Hexadecimal(bytes),
            (datum, format, sql_type) => {
                channel.count(weight_of(datum))?;
                rendered(datum, sql_type, format)
            }
        };
        length += 4 + if datum.is_null() { 0 } else { piece.len() };
        pieces.push(piece);
    }
    if length > MESSAGE_BYTES_MAX {
        let text = format!("a row of {length} bytes is longer than a message can be");
        return Err(Error::new(SqlState::LIMIT_EXCEEDED, text));
    }
    channel.out.put_u8(b'D');
    channel.out.put_u32(length as u32);
    channel.out.put_u16(values.len() as u16);
    Ok(values.iter().zip(&pieces).try_for_each(|(datum, piece)| {
        if datum.is_null() {
            channel.out.put_i32(-1);
            return Ok(());
        }
        channel.out.put_u32(piece.len() as u32);
        piece.send(channel)
    }))
}

/// The longest message, whose length has a sign for clients.
const MESSAGE_BYTES_MAX: usize = i32::MAX as usize;
/// Bytes from which on a value is not copied to what is to be sent.
const LARGE_BYTES: usize = 16 << 10;

/// A value as it goes out.
enum Piece<'d> {
    AsItIs(&'d [u8]),
    Hexadecimal(&'d [u8]),
    Rendered(BytesMut),
}

impl Piece<'_> {
    fn len(&self) -> usize {
        match self {
            Self::AsItIs(bytes) => bytes.len(),
            Self::Hexadecimal(bytes) => 2 + 2 * bytes.len(),
            Self::Rendered(bytes) => bytes.len(),
        }
    }

    fn send(&self, channel: &mut Channel) -> io::Result<()> {
        match self {
            Self::AsItIs(bytes) => channel.send_through(bytes),
            Self::Rendered(bytes) => channel.send_through(bytes),
            Self::Hexadecimal(bytes) => {
                channel.out.put_slice(b"\\x");
                for piece in bytes.chunks(LARGE_BYTES) {
                    for byte in piece {
                        let digits = [byte >> 4, byte & 15];
                        let digits = digits.map(|digit| b"0123456789abcdef"[usize::from(digit)]);
                        channel.out.put_slice(&digits);
                    }
                    channel.flush_if_much()?;
                }
                Ok(())
            }
        }
    }
}

fn rendered(datum: &Datum, sql_type: &SqlType, format: Format) -> Piece<'static> {
    let mut out = BytesMut::new();
    value(&mut out, datum, sql_type, format);
    let bytes = if datum.is_null() { BytesMut::new() } else { out.split_off(4) };
    Piece::Rendered(bytes)
}

fn is_large(datum: &Datum) -> bool {
    match datum {
        Datum::Text(text) => text.len() > LARGE_BYTES,
        Datum::Bytes(bytes) => bytes.len() > LARGE_BYTES,
        Datum::List(elements) => elements.len() > LARGE_BYTES / 16 || elements.iter().any(is_large),
        _ => false,
    }
}

/// About as many bytes as a value has as text.
fn weight_of(datum: &Datum) -> usize {
    match datum {
        Datum::Text(text) => 2 * text.len(),
        Datum::Bytes(bytes) => 4 * bytes.len(),
        Datum::List(elements) => elements.iter().map(|element| 4 + weight_of(element)).sum(),
        _ => 40,
    }
}

/// Appends a row.
fn row(out: &mut BytesMut, columns: &[ResultColumn], formats: &[u16], row: &[Datum]) {
    backend::message(out, b'D', |out| {
        out.put_u16(row.len() as u16);
        for (place, (datum, column)) in row.iter().zip(columns).enumerate() {
            value(out, datum, &column.sql_type, Format::of(formats, place));
        }
    });
}

/// Appends a value with its length.
pub(crate) fn value(out: &mut BytesMut, datum: &Datum, sql_type: &SqlType, format: Format) {
    if datum.is_null() {
        return out.put_i32(-1);
    }
    let start = out.len();
    out.put_u32(0);
    match format {
        Format::Text => text(out, datum),
        Format::Binary => binary(out, datum, sql_type),
    }
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

fn text(out: &mut BytesMut, datum: &Datum) {
    match datum {
        Datum::Text(text) => {
            #[cfg(test)]
            crate::fault::fault(text);
            out.put_slice(text.as_bytes());
        }
        // Memory takes any text.
        other => drop(write!(out, "{other}")),
    }
}

fn binary(out: &mut BytesMut, datum: &Datum, sql_type: &SqlType) {
    match (datum, sql_type) {
        (Datum::Bool(truth), _) => out.put_u8(u8::from(*truth)),
        (Datum::Int(number), other) => integer(out, i128::from(*number), other),
        (Datum::UInt(number), other) => integer(out, i128::from(*number), other),
        (Datum::Real(number), _) => out.put_f32(*number),
        (Datum::Double(number), _) => out.put_f64(*number),
        (Datum::Decimal(unscaled, scale), _) => decimal::write(out, *unscaled, *scale),
        (Datum::Date(days), _) => out.put_i32(days.saturating_sub(EPOCH_DAYS)),
        (Datum::Time(micros), _) => out.put_i64(*micros),
        (Datum::Timestamp(micros) | Datum::TimestampTz(micros), _) => {
            out.put_i64(micros.saturating_sub(EPOCH_MICROS));
        }
        (Datum::Interval(months, days, nanos), _) => {
            out.put_i64(nanos.div_euclid(1000));
            out.put_i32(*days);
            out.put_i32(*months);
        }
        (Datum::Text(text), SqlType::Uuid) => uuid(out, text),
        (Datum::Text(text), _) => out.put_slice(text.as_bytes()),
        (Datum::Bytes(bytes), _) => out.put_slice(bytes),
        (Datum::List(elements), SqlType::Array(element)) => list(out, elements, element),
        (Datum::Null | Datum::List(_), _) => {}
    }
}

fn integer(out: &mut BytesMut, number: i128, sql_type: &SqlType) {
    match oid::of(sql_type) {
        21 => out.put_i16(number as i16),
        23 => out.put_i32(number as i32),
        1700 => decimal::write(out, number, 0),
        _ => out.put_i64(number as i64),
    }
}

fn uuid(out: &mut BytesMut, text: &str) {
    let digits: String = text.chars().filter(|c| *c != '-').collect();
    match u128::from_str_radix(&digits, 16) {
        Ok(number) => out.put_u128(number),
        Err(_) => out.put_slice(text.as_bytes()),
    }
}

/// A list: dimensions, whether it has NULLs, the type; then length and first number of each
/// dimension, then the values.
fn list(out: &mut BytesMut, elements: &[Datum], element: &SqlType) {
    let mut lengths = Vec::new();
    let (mut level, mut innermost) = (elements, element);
    while !level.is_empty() {
        lengths.push(level.len());
        let (Datum::List(inner), SqlType::Array(of)) = (&level[0], innermost) else { break };
        (level, innermost) = (inner, of);
    }
    let mut flat = Vec::new();
    flatten(elements, &mut flat);
    out.put_u32(lengths.len() as u32);
    out.put_u32(u32::from(flat.iter().any(|datum| datum.is_null())));
    out.put_u32(oid::of(innermost));
    for length in &lengths {
        out.put_u32(*length as u32);
        out.put_u32(1);
    }
    flat.iter().for_each(|datum| value(out, datum, innermost, Format::Binary));
}

fn flatten<'d>(elements: &'d [Datum], flat: &mut Vec<&'d Datum>) {
    for element in elements {
        match element {
            Datum::List(inner) => flatten(inner, flat),
            other => flat.push(other),
        }
    }
}
