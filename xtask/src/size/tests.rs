//! A million bytes pass, one more does not.

use super::{BYTES_MAX, MANIFEST, check_symbols, judge};

#[test]
fn the_limit_is_a_limit() {
    assert!(judge(BYTES_MAX, BYTES_MAX).is_ok());
    let reason = judge(BYTES_MAX + 7, BYTES_MAX).expect_err("too large").to_string();
    assert_eq!(reason, "1000007 bytes, 7 too many");
}

#[test]
fn the_manifest_is_readable_and_stands_alone() {
    let manifest: toml::Table = MANIFEST.parse().expect("a manifest");
    assert!(manifest.contains_key("workspace"));
}

#[test]
fn what_nobody_asked_for_is_noticed() {
    let own = "0000 T mco_db_open\n0000 T rem_mco_find\n0000 t d_print_mods\n";
    assert!(check_symbols(&own.replace("d_print", "print")).is_ok());
    let foreign = format!("{own}0000 T rem_kv_put\n");
    assert!(check_symbols(&foreign).is_err());
}
