//! A million bytes pass, one more does not.

use super::{BYTES_MAX, MANIFEST, judge};

#[test]
fn the_limit_is_a_limit() {
    assert!(judge(BYTES_MAX).is_ok());
    let reason = judge(BYTES_MAX + 7).expect_err("too large").to_string();
    assert_eq!(reason, "1000007 bytes, 7 too many");
}

#[test]
fn the_manifest_is_readable_and_stands_alone() {
    let manifest: toml::Table = MANIFEST.parse().expect("a manifest");
    assert!(manifest.contains_key("workspace"));
}
