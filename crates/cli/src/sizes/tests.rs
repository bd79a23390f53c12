//! What is a number of bytes and what is not.

use super::{parse, shown};

#[test]
fn bytes_with_and_without_units() {
    for (text, bytes) in [
        ("0", 0),
        ("4096", 4096),
        ("64K", 64 << 10),
        ("1.5m", 3 << 19),
        ("8 GiB", 8 << 30),
        ("2TB", 2 << 40),
        ("7B", 7),
    ] {
        assert_eq!(parse(text), Some(bytes), "{text}");
    }
    for text in ["", "G", "-1", "1.5", "12X", "1e9", "99999999999T", "1.2.3M", "5 K B"] {
        assert_eq!(parse(text), None, "{text}");
    }
}

#[test]
fn sizes_are_rounded() {
    assert_eq!(shown(1023), "1023 bytes");
    assert_eq!(shown(1536), "1.5 KiB");
    assert_eq!(shown(5 << 40), "5.0 TiB");
}
