//! Where the page of such a workload goes.

use super::*;

#[test]
fn the_page_goes_where_the_records_go() {
    let arguments = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
    assert_eq!(out_of(&arguments(&["--quick"])), PathBuf::from("target/lab"));
    assert_eq!(out_of(&arguments(&["--out", "there"])), PathBuf::from("there"));
}
