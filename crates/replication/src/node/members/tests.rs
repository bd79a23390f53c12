//! Which member a request to leave means.
//!
//! A group whose members change meanwhile is played by the simulator.

use super::is_meant;
use crate::entry::Member;

#[test]
fn a_late_request_means_no_other_folder() {
    let joined_since = Member { token: 7, ..Member::default() };
    assert!(is_meant(&joined_since, Some(7)));
    assert!(!is_meant(&joined_since, Some(5)));
    // Who does not know the member means whichever has the number.
    assert!(is_meant(&joined_since, None));
}
