//! Every segment is taken once, by whoever comes, however late.

use std::sync::Arc;
use std::thread;

use super::{Shares, Sharing};

#[test]
fn every_segment_is_taken_once() {
    for sharing in [Sharing::ByTurns, Sharing::ByStretches] {
        for (segments, readers) in [(0, 2), (1, 2), (2, 3), (7, 3), (5_000, 4)] {
            let shares = Arc::new(Shares::new(0..segments, readers, sharing));
            let read = |reader: usize| {
                let shares = Arc::clone(&shares);
                thread::spawn(move || -> Vec<u64> {
                    std::iter::from_fn(|| shares.take(reader)).map(|taken| taken.segment).collect()
                })
            };
            let readers: Vec<_> = (0..readers).map(read).collect();
            let taken = readers.into_iter().map(|reader| reader.join().expect("a reader"));
            let mut taken: Vec<u64> = taken.flatten().collect();
            taken.sort_unstable();
            let all: Vec<u64> = (0..segments as u64).collect();
            assert_eq!(taken, all, "{sharing:?}, {segments} segments");
        }
    }
}

#[test]
fn a_reader_has_a_stretch_and_then_the_second_half_of_what_is_left() {
    let shares = Shares::new(0..8, 2, Sharing::ByStretches);
    let take = |reader: usize| shares.take(reader).map(|it| (it.segment, it.is_of_other));
    let own = |segment: u64| Some((segment, false));
    assert_eq!([take(1), take(1), take(0)], [own(4), own(5), own(0)]);
    assert_eq!([take(1), take(1)], [own(6), own(7)]);
    // Of 1, 2 and 3 it takes two, and then the last one, which nobody has begun.
    assert_eq!([take(1), take(1)], [Some((2, true)), own(3)]);
    assert_eq!([take(1), take(0), take(1)], [Some((1, true)), None, None]);
}

#[test]
fn by_turns_the_next_segment_is_anybodys() {
    let shares = Shares::new(0..3, 2, Sharing::ByTurns);
    let take = |reader: usize| shares.take(reader).map(|it| (it.segment, it.is_of_other));
    let found = [0, 1, 0, 1].map(take);
    assert_eq!(found, [Some((0, false)), Some((1, false)), Some((2, false)), None]);
}
