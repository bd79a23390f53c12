//! Values of results, as they are sent.
//!
//! The type of the column decides the bytes of a number, not the value: a client counts on it.

use std::fmt::Write;

use bytes::{BufMut, BytesMut};
use remanent_sql::{Datum, ResultColumn, SqlType};

use super::{EPOCH_DAYS, EPOCH_MICROS, Format, decimal, oid};
use crate::wire::backend;

/// Appends the description of a result's columns.
pub(crate) fn describe(out: &mut BytesMut, columns: &[ResultColumn], formats: &[u16]) {
    backend::message(out, b'T', |out| {
        out.put_u16(columns.len() as u16);
        for (place, column) in columns.iter().enumerate() {
            let oid = oid::of(&column.sql_type);
            backend::put_text(out, &column.name);
            // Neither table nor number in it is told.
            out.put_u32(0);
            out.put_u16(0);
            out.put_u32(oid);
            out.put_i16(oid::size(oid));
            out.put_i32(oid::modifier(&column.sql_type));
            out.put_u16(Format::of(formats, place).code());
        }
    });
}

/// Appends a row.
pub(crate) fn row(out: &mut BytesMut, columns: &[ResultColumn], formats: &[u16], row: &[Datum]) {
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
        Datum::Text(text) => out.put_slice(text.as_bytes()),
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
