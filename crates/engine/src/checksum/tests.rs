use super::Checksum;

fn checksum(bytes: &[u8]) -> u32 {
    let mut checksum = Checksum::new();
    checksum.add(bytes);
    checksum.value()
}

/// The check value that catalogues of CRCs give for CRC-32C, and vectors of RFC 3720 (iSCSI).
#[test]
fn known_values() {
    assert_eq!(checksum(b""), 0);
    assert_eq!(checksum(b"123456789"), 0xe306_9283);
    assert_eq!(checksum(&[0; 32]), 0x8a91_36aa);
    assert_eq!(checksum(&[0xff; 32]), 0x62a8_ab43);
}

#[test]
fn parts_give_what_the_whole_gives() {
    let bytes: Vec<u8> = (0..100).collect();
    for cut in 0..bytes.len() {
        let mut parts = Checksum::new();
        parts.add(&bytes[..cut]);
        parts.add(&bytes[cut..]);
        assert_eq!(parts.value(), checksum(&bytes));
    }
}

/// Whatever the processor has, the tables give the same.
#[test]
fn tables_give_what_the_processor_gives() {
    let bytes: Vec<u8> = (0..20_000_u32).map(|i| ((i * i) >> 3) as u8).collect();
    for length in (0..1000).step_by(7).chain((1000..bytes.len()).step_by(73)) {
        let mut tables = Checksum::new();
        tables.add_by_tables(&bytes[..length]);
        assert_eq!(tables.value(), checksum(&bytes[..length]));
    }
}
