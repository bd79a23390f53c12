use super::*;
use crate::values::scalar::Decimal;

#[test]
fn slices_and_packed_bytes_are_the_same_vector() {
    let numbers = [Decimal::<20, 0>(-1), Decimal(5)];
    let slice = VectorRef::from(&numbers);
    let mut bytes = [0u8; 33];
    slice.write_packed(&mut bytes[1..]);
    // From an odd address, which a reference to elements could not have.
    let packed = VectorRef::from_packed(&bytes[1..]);
    assert_eq!(packed, slice);
    assert_eq!(packed.to_vec(), numbers);
    let mut again = [0u8; 32];
    packed.write_packed(&mut again);
    assert_eq!(again, bytes[1..]);
    assert_eq!((packed.get(1), packed.get(2), packed.get(usize::MAX)), (slice.get(1), None, None));
}

#[test]
fn iteration_knows_its_length() {
    let mut numbers = VectorRef::from(&[1u8, 2, 3]).iter();
    assert_eq!((numbers.len(), numbers.next(), numbers.len()), (3, Some(1), 2));
    assert!(VectorRef::<u8>::default().is_empty());
}
