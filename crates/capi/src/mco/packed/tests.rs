use proptest::prelude::*;

use super::*;

fn packed(elements: &[Vec<u8>]) -> Vec<u8> {
    build(elements.iter().map(Vec::as_slice)).expect("it is short")
}

fn unpacked(blob: &[u8]) -> Vec<Vec<u8>> {
    let packed = Packed::of(blob);
    (0..packed.count()).map(|index| packed.get(index).expect("it is there").to_vec()).collect()
}

proptest! {
    #[test]
    fn changes_do_to_the_blob_what_they_do_to_a_vector(
        mut elements in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..9), 1..9),
        index in any::<prop::sample::Index>(),
        element in prop::collection::vec(any::<u8>(), 0..20),
        erased in 0..3_usize,
    ) {
        let blob = packed(&elements);
        prop_assert_eq!(&unpacked(&blob), &elements);
        let at = index.index(elements.len());
        let changed = Packed::of(&blob).with(at, &element).expect("it is there");
        elements[at] = element;
        prop_assert_eq!(&unpacked(&changed), &elements);
        let without = Packed::of(&changed).without(at, erased);
        if at + erased <= elements.len() {
            elements.drain(at..at + erased);
            prop_assert_eq!(&unpacked(&without.expect("they are there")), &elements);
        } else {
            prop_assert_eq!(without, Err(MCO_E_ILLEGAL_PARAM));
        }
    }

    #[test]
    fn any_bytes_can_be_read(blob in prop::collection::vec(any::<u8>(), 0..40)) {
        let _ = unpacked(&blob);
    }
}
