use super::*;

#[test]
fn rows_are_those_of_the_document() {
    let data = Dataset::new(30_000, RecordShape::Variable);
    assert_eq!(data.rows(), 30_000);
    let last = data.measure(29_999);
    assert_eq!((last.sensor_id, last.timestamp), (99, 99 + 299));
    let mean = data.data_bytes(30_000) / 30_000;
    assert!((480..540).contains(&mean), "{mean} bytes a row");
}

#[test]
fn row_numbers_run_in_key_order_and_strings_repeat_on_every_machine() {
    let data = Dataset::new(2_500, RecordShape::Variable);
    let again = Dataset::new(2_500, RecordShape::Variable);
    for row in 1..data.rows() {
        assert!(data.measure(row - 1).key() < data.measure(row).key());
        assert_eq!(data.measure(row), again.measure(row));
    }
}

#[test]
fn fixed_records_have_64_bytes() {
    let data = Dataset::new(10, RecordShape::Fixed);
    assert_eq!(data.data_bytes(10), 640);
}

#[test]
fn a_shuffle_has_every_row_once() {
    let mut order = Dataset::shuffled(1000, 0);
    assert_ne!(order, Dataset::shuffled(1000, 1));
    order.sort_unstable();
    assert!(order.into_iter().eq(0..1000));
}
