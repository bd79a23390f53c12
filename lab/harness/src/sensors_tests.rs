use super::*;

#[test]
fn packed_keys_order_as_the_key() {
    let keys = [(0, 0), (0, 1), (0, u32::MAX), (1, 0), (256, 255), (256, 256), (u32::MAX, 7)];
    for pair in keys.windows(2) {
        let (low, high) = (key(pair[0]), key(pair[1]));
        assert!(low < high);
        assert!(low.packed() < high.packed());
        assert!(low.to_bytes() < high.to_bytes());
    }
}

#[test]
fn what_is_packed_comes_back() {
    let measure = Measure { sensor_id: 7, timestamp: 9, spectra: "spectrum", thing: -3 };
    let mut bytes = vec![0; packed_len(&measure)];
    pack(&measure, &mut bytes);
    let mut out = MeasureBuffer::new();
    assert!(unpack(measure.key(), &bytes, &mut out));
    assert_eq!((out.sensor_id, out.timestamp, out.thing), (7, 9, -3));
    assert_eq!(out.spectra(), b"spectrum");
    assert_eq!(measure.data_bytes(), 18);
}

#[test]
fn a_value_that_cannot_be_a_record_is_refused() {
    let mut out = MeasureBuffer::new();
    let key = key((0, 0));
    assert!(!unpack(key, &[1], &mut out));
    assert!(!unpack(key, &[0; SPECTRA_LEN_MAX + PACKED_HEAD_LEN + 1], &mut out));
}

fn key((sensor_id, timestamp): (u32, u32)) -> SensorKey {
    SensorKey { sensor_id, timestamp }
}
