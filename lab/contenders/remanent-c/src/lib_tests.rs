//! Every program by itself: what was put is there, what was not is absent, a close ends it.

use lab_harness::readers::{Deleted, Ended, Row, RowReader, RowView};
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

#[test]
fn a_writer_and_readers_share_a_database() {
    // Bytes, of which some are zero.
    let row = |id: i32, letter: u8| {
        let mut payload = [letter; lab_harness::readers::PAYLOAD_LEN];
        payload[7] = 0;
        Row { id, hexkey: [id as i16, -1, 7], payload }
    };
    for (number, setting) in SHARED.iter().enumerate() {
        let name = format!("lab-remanent-c-readers-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let location = Location { directory: Some(&folder), rows: 10, data_bytes: 2000 };
        let store = open_shared(setting, &location).unwrap();
        let mut writer = store.writer().unwrap();
        let rows: Vec<Row> = (0..10).map(|id| row(id * 2, b'a')).collect();
        assert_eq!(writer.insert(&rows).unwrap(), Ended::Committed);
        assert!(writer.insert(&rows[3..5]).is_err(), "they are there");
        assert_eq!(writer.update(&[row(4, b'b'), row(8, b'c')]).unwrap(), Ended::Committed);
        assert!(writer.update(&[row(5, b'b')]).is_err(), "it is not there");
        let mut reader = store.reader().unwrap();
        let mut seen = Vec::new();
        let mut see = |row: Option<RowView<'_>>| {
            seen.push(row.map(|row| (row.id, row.hexkey, row.payload[199])));
        };
        reader.read(&[8, 5, 4, 0], &mut see).unwrap();
        let expected = [Some((8, [8, -1, 7], b'c')), None, Some((4, [4, -1, 7], b'b'))];
        assert_eq!(seen[..3], expected);
        assert_eq!(seen[3], Some((0, [0, -1, 7], b'a')));
        let ids = |reader: &mut dyn RowReader| {
            let mut ids = Vec::new();
            reader.scan(&mut |row| ids.extend(row.map(|row| row.id))).unwrap();
            ids.sort_unstable();
            ids
        };
        assert_eq!(ids(reader.as_mut()).len(), 10);
        let deleted = |rows, last| Some(Deleted { rows, last });
        assert_eq!(writer.delete(3, 2).unwrap(), deleted(2, 6));
        assert_eq!(writer.delete(8, 1).unwrap(), deleted(1, 8));
        assert_eq!(writer.delete(15, 5).unwrap(), deleted(2, 18));
        assert_eq!(writer.delete(15, 5).unwrap(), deleted(0, 15));
        assert_eq!(ids(reader.as_mut()), [0, 2, 10, 12, 14]);
        drop((writer, reader));
        drop(store);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
