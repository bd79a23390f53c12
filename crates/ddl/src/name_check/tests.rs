//! The list of words is one that can be trusted, and what was meant is found.

use super::{KEYWORDS, nearest, refused, refused_within};

#[test]
fn words_of_c_are_refused_once_each() {
    let mut words = KEYWORDS.to_vec();
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), KEYWORDS.len());
    assert!(refused("int").is_some() && refused("delete").is_some() && refused("inte").is_none());
    assert!(refused_within("delete").is_none() && refused_within("int").is_some());
    assert!(refused("rem_x").is_some() && refused_within("mco_y").is_some());
}

#[test]
fn the_nearest_name_is_found_and_nothing_far() {
    let known = ["sensor_id", "timestamp", "spectra"];
    assert_eq!(nearest("sensorid", known).as_deref(), Some("sensor_id"));
    assert_eq!(nearest("TimeStamp", known).as_deref(), Some("timestamp"));
    assert_eq!(nearest("value", known), None);
}
