//! Where the history is kept, by what the environment says.

use std::ffi::OsString;
use std::path::PathBuf;

use super::path;

fn kept(set: &[(&str, &str)]) -> Option<PathBuf> {
    path(|name| set.iter().find(|(known, _)| *known == name).map(|(_, v)| OsString::from(v)))
}

#[test]
fn the_folder_for_state_is_used_unless_a_file_is_named() {
    let home = ("HOME", "/home/ada");
    let usual = Some(PathBuf::from("/home/ada/.local/state/remanent/history"));
    assert_eq!(kept(&[home]), usual);
    let state = ("XDG_STATE_HOME", "/state");
    assert_eq!(kept(&[home, state]), Some(PathBuf::from("/state/remanent/history")));
    // A folder that depends on where the program runs does not count.
    assert_eq!(kept(&[home, ("XDG_STATE_HOME", "state")]), usual);
    let named = ("REMANENT_HISTORY", "/elsewhere");
    assert_eq!(kept(&[home, state, named]), Some(PathBuf::from("/elsewhere")));
    assert_eq!(kept(&[home, ("REMANENT_HISTORY", "")]), None);
    assert_eq!(kept(&[]), None);
}
