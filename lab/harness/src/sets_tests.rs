use super::*;

#[test]
fn every_order_has_a_word_of_its_own() {
    for order in SetOrder::ALL {
        assert_eq!(SetOrder::of_word(order.word()), Some(order));
    }
    assert_eq!(SetOrder::of_word("descending"), None);
}
