//! 512 KiB pass, one byte more does not.

use super::check;
use crate::tidy::sample;

#[test]
fn one_byte_too_many_is_found() {
    let fits = "x".repeat(512 * 1024);
    assert!(sample::check(check, &[("lab/data", &fits)]).is_empty());
    let found = sample::check(check, &[("lab/data", &format!("{fits}x"))]);
    assert_eq!(found, ["lab/data:1: 524289 bytes, more than 524288"]);
}
