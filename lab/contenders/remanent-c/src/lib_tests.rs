//! Every program by itself: what was put is there, what was not is absent, a close ends it.

use lab_harness::sensors::{Measure, MeasureBuffer, SPECTRA_LEN_MAX, SensorKey};
use lab_harness::sets::{End, NOBODY};

use super::*;

/// Lengths at which a piece of an emulated text is just full, or just not.
const LENGTHS: [usize; 14] =
    [0, 1, 99, 100, 101, 199, 200, 299, 300, 301, 600, 999, SPECTRA_LEN_MAX, 7];

#[test]
fn every_interface_gives_back_what_was_put() {
    let folder = std::env::temp_dir().join(format!("lab-remanent-c-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let location = Location { directory: Some(&folder), rows: 100, data_bytes: 100_000 };
    for interface in [&NATIVE, &MCO, &D] {
        let (driver, name) = (interface.sensors.unwrap(), interface.name);
        for setting in driver.settings {
            let mut store = (driver.open)(setting, &location, RecordShape::Variable).unwrap();
            let texts: Vec<String> = LENGTHS.iter().map(|&length| "abc".repeat(length)).collect();
            for (row, &length) in LENGTHS.iter().enumerate() {
                let measure = Measure {
                    sensor_id: row as u32 / 3,
                    timestamp: row as u32,
                    spectra: &texts[row][..length],
                    thing: -(row as i16),
                };
                store.insert(&measure).unwrap();
            }
            let mut out = MeasureBuffer::new();
            for (row, &length) in LENGTHS.iter().enumerate().rev() {
                let key = SensorKey { sensor_id: row as u32 / 3, timestamp: row as u32 };
                assert!(store.read(key, &mut out).unwrap(), "{name} {row}");
                assert_eq!((out.sensor_id, out.timestamp), (key.sensor_id, key.timestamp));
                assert_eq!(out.thing, -(row as i16), "{name} {row}");
                let text = &texts[row].as_bytes()[..length];
                assert_eq!(out.spectra(), text, "{name} {row}");
            }
            let absent = SensorKey { sensor_id: 77, timestamp: 0 };
            assert!(!store.read(absent, &mut out).unwrap(), "{name}");
            store.close().unwrap();
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_set_is_connected_followed_and_disconnected() {
    let folder = std::env::temp_dir().join(format!("lab-remanent-c-sets-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let location = Location { directory: Some(&folder), rows: 5, data_bytes: 20 };
    let mut store = open_set(&SETS[0], &location, SetOrder::Last).unwrap();
    store.fill(5).unwrap();
    store.connect(&[3, 0]).unwrap();
    store.connect(&[4]).unwrap();
    let mut out = [77; 6];
    assert_eq!(store.walk(&mut out).unwrap(), 3);
    assert_eq!(out[..3], [3, 0, 4]);
    assert_eq!(store.walk(&mut out[..2]).unwrap(), 2, "no more than there is room for");
    store.go_to(End::First, &mut out[..2]).unwrap();
    assert_eq!(out[..2], [3, 3]);
    store.go_to(End::Last, &mut out[..1]).unwrap();
    assert_eq!(out[0], 4);
    store.next_of(&[4, 3], &mut out[..2]).unwrap();
    assert_eq!(out[..2], [NOBODY, 0]);
    store.disconnect(&[4, 3]).unwrap();
    assert_eq!(store.walk(&mut out).unwrap(), 1);
    store.disconnect(&[0]).unwrap();
    assert_eq!(store.walk(&mut out).unwrap(), 0);
    assert!(store.disconnect(&[0]).is_err(), "it is no member any more");
    assert!(store.connect(&[5]).is_err(), "there are five, from 0");
    store.close().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
}
