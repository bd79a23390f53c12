//! Parameters in binary with lengths and contents that no client sends: each is read or refused,
//! and never a fault of the server.

use crate::harness::Running;
use crate::raw::{Raw, Received, message, state};

/// Numbers of the types that clients may declare, those of lists and unknown ones among them.
const TYPES: [u32; 30] = [
    16, 17, 18, 19, 20, 21, 23, 25, 26, 114, 700, 701, 1042, 1043, 1082, 1083, 1114, 1184, 1186,
    1266, 1700, 2950, 3802, 1000, 1007, 1016, 1009, 1115, 1231, 999_999,
];

/// Contents of every kind: ends of numbers, counts that lie, digits that are none.
fn contents() -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = Vec::new();
    for length in [0, 1, 2, 4, 8, 12, 16, 20, 64] {
        for byte in [0, 1, 0x7f, 0x80, 0xff] {
            all.push(vec![byte; length]);
        }
    }
    for ends in [i64::MIN, i64::MAX, i64::MIN + 1, -211_813_488_000_000_000, i64::MAX / 2] {
        all.push(ends.to_be_bytes().to_vec());
    }
    for ends in [i32::MIN, i32::MAX, i32::MIN + 1, -2_451_545, 2_145_031_949] {
        all.push(ends.to_be_bytes().to_vec());
    }
    let floats = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, -0.0];
    all.extend(floats.map(|float| float.to_be_bytes().to_vec()));
    // NUMERIC: count, weight, sign, scale, digits.
    for (weight, sign, scale) in [
        (0, 0, 0),
        (0, 0xc000, 0),
        (0, 0xd000, 0),
        (0, 0xf000, 0x20),
        (0, 7, 0),
        (32_767, 0, 0),
        (0x8000, 0, 0),
        (9, 0, 0),
        (0, 0, 0xffff),
        (0x8000, 0x4000, 0x3fff),
        (0, 0, 0x3fff),
    ] {
        for digits in [&[][..], &[0], &[9999], &[10_000], &[0xffff], &[9999; 10], &[0; 2000]] {
            let head = [digits.len() as u16, weight, sign, scale];
            let words = head.iter().chain(digits);
            all.push(words.flat_map(|word| word.to_be_bytes()).collect());
        }
        all.push([0xffff_u16, weight, sign, scale].iter().flat_map(|w| w.to_be_bytes()).collect());
    }
    // Lists: dimensions, flags, type, length and first number of each, then values.
    for (dimensions, of, count) in [
        (1, 23, 2),
        (1, 23, u32::MAX),
        (1, 23, 0x7fff_ffff),
        (0, 23, 0),
        (2, 23, 1),
        (6, 23, 0xffff),
        (u32::MAX, 23, 1),
        (1, 1007, 1),
        (1, 1700, 2),
        (1, 999_999, 1),
    ] {
        for value in [&[0, 0, 0, 4, 0, 0, 0, 1][..], &[0xff; 8], &[0x7f, 0xff, 0xff, 0xff], &[]] {
            let mut bytes = Vec::new();
            for word in [dimensions, 1, of, count, 1] {
                bytes.extend(word.to_be_bytes());
            }
            (0..2).for_each(|_| bytes.extend(value));
            all.push(bytes);
        }
    }
    all.push(b"\x01{\"a\": ".to_vec());
    all.push(b"\x02{}".to_vec());
    all.push(vec![b'[', 0xc3, 0x28]);
    all.push(b"a\0b".to_vec());
    all
}

/// A statement with one parameter of a declared type, bound in binary, its rows in this format.
fn bound(text: &str, oid: u32, value: &[u8], format: u8) -> Vec<u8> {
    let mut parse = format!("\0{text}\0").into_bytes();
    parse.extend([0, 1]);
    parse.extend(oid.to_be_bytes());
    let mut bind = vec![0, 0, 0, 1, 0, 1, 0, 1];
    bind.extend((value.len() as u32).to_be_bytes());
    bind.extend(value);
    bind.extend([0, 1, 0, format]);
    [
        message(b'P', &parse),
        message(b'B', &bind),
        message(b'E', &[0, 0, 0, 0, 0]),
        message(b'S', b""),
    ]
    .concat()
}

#[test]
fn binary_values_are_read_or_refused() {
    let running = Running::trusting();
    let mut raw = Raw::ready(running.port, "attacker");
    let all = contents();
    let mut faults = Vec::new();
    for oid in TYPES {
        // All of a type in one pipeline; an error skips to the next Sync alone.
        for (format, text) in [(0, "select $1, $1 = $1"), (1, "select $1")] {
            let sent: Vec<u8> =
                all.iter().flat_map(|value| bound(text, oid, value, format)).collect();
            let mut writes = raw.socket.try_clone().unwrap();
            let sends =
                std::thread::spawn(move || drop(std::io::Write::write_all(&mut writes, &sent)));
            for value in &all {
                let received: Vec<Received> = match raw.answer() {
                    Ok(received) => received,
                    Err(error) => panic!("{error} at type {oid}, {value:02x?}"),
                };
                let state = state(&received);
                let fits = ["", "22", "08", "42", "0A", "54"].iter().any(|c| match *c {
                    "" => state.is_empty(),
                    class => state.starts_with(class),
                });
                if !fits {
                    let shown = &value[..value.len().min(32)];
                    faults.push(format!("{state}: type {oid}, {shown:02x?}"));
                    if received.last().is_some_and(|received| received.kind == b'E') {
                        panic!("the session was ended: {faults:?}");
                    }
                }
            }
            sends.join().unwrap();
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn moments_beyond_all_calendars_are_refused() {
    let running = Running::trusting();
    let mut raw = Raw::ready(running.port, "attacker");
    let moment = "create table m (a timestamptz, b date, c time)";
    assert_eq!(raw.query(moment).unwrap(), "");
    for (column, oid, value) in [
        ("a", 1184, i64::MAX.to_be_bytes().to_vec()),
        ("a", 1184, (i64::MIN + 5).to_be_bytes().to_vec()),
        ("a", 1184, 300_000_000_000_000_000_i64.to_be_bytes().to_vec()),
        ("b", 1082, i32::MAX.to_be_bytes().to_vec()),
        ("b", 1082, i32::MIN.to_be_bytes().to_vec()),
        ("c", 1083, i64::MAX.to_be_bytes().to_vec()),
        ("c", 1083, (-1_i64).to_be_bytes().to_vec()),
    ] {
        raw.send(&bound(&format!("insert into m ({column}) values ($1)"), oid, &value, 0));
        let found = state(&raw.answer().unwrap());
        assert!(["22008", "22P03", "22003"].contains(&found.as_str()), "{column}: {found:?}");
    }
    assert_eq!(raw.query("select * from m").unwrap(), "");
}

#[test]
fn a_long_value_in_many_rows_is_no_fault() {
    let running = Running::trusting();
    let mut raw = Raw::ready(running.port, "attacker");
    let long = "x".repeat(1 << 20);
    for text in [
        format!("select '{long}' from generate_series(1, 100)"),
        format!("select upper('{long}') from generate_series(1, 100)"),
        "select repeat('x', 3000000) from generate_series(1, 100)".to_owned(),
        "select repeat('x', 2000000000000)".to_owned(),
        "select rpad('x', 9223372036854775807, 'y')".to_owned(),
    ] {
        let found = raw.query(&text).unwrap();
        // A text that is made once for all rows has room.
        let fits = ["", "53200", "54000", "22003", "22023"].contains(&found.as_str());
        assert!(fits, "{found}: {}..{}", &text[..20], &text[text.len() - 30..]);
    }
    assert_eq!(raw.query("select 1").unwrap(), "");
}
