//! Any bytes come back, and none that are given as compressed make the program panic.

use proptest::prelude::*;
use remanent_compression::Lz4;
use remanent_engine::Compression;

/// Bytes with runs and repetitions, as columns have them.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let run = (any::<u8>(), 1_usize..300).prop_map(|(byte, len)| vec![byte; len]);
    let any = prop::collection::vec(any::<u8>(), 0..300);
    prop::collection::vec(prop_oneof![run, any], 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn bytes_come_back(bytes in bytes(), before in prop::collection::vec(any::<u8>(), 0..9)) {
        let mut out = before.clone();
        Lz4.compress(&bytes, &mut out);
        prop_assert_eq!(&out[..before.len()], &before[..]);
        let mut again = vec![7; bytes.len()];
        Lz4.decompress(1, &out[before.len()..], &mut again).expect("they were compressed");
        prop_assert_eq!(again, bytes);
    }

    #[test]
    fn damaged_bytes_are_an_error_or_other_bytes(
        bytes in bytes(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 1_u8..), 1..6),
        len in 0_usize..4000,
    ) {
        let mut compressed = Vec::new();
        Lz4.compress(&bytes, &mut compressed);
        for (place, change) in &changes {
            let place = place.index(compressed.len());
            compressed[place] ^= change;
        }
        let _ = Lz4.decompress(1, &compressed, &mut vec![0; len]);
    }
}

#[test]
fn other_lengths_and_methods_are_refused() {
    let mut compressed = Vec::new();
    Lz4.compress(&[5; 1000], &mut compressed);
    for len in [0, 1, 999, 1001, 5000] {
        let error = Lz4.decompress(1, &compressed, &mut vec![0; len]).expect_err("another length");
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidData, "{len}");
    }
    let error = Lz4.decompress(2, &compressed, &mut [0; 1000]).expect_err("another method");
    assert_eq!(error.kind(), std::io::ErrorKind::Unsupported);
}
