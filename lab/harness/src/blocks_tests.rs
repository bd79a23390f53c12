use super::*;

const BYTES: usize = 8192;

/// A source in a vector that may give blocks out that overlap, or damage one.
struct Fake {
    bytes: Vec<u8>,
    next: usize,
    step: usize,
}

impl Source for Fake {
    type Block = usize;

    fn block_bytes(&self) -> usize {
        BYTES
    }

    fn allocate(&mut self) -> Outcome<usize> {
        let block = self.next;
        self.next += self.step;
        match self.next + BYTES <= self.bytes.len() + self.step {
            true => Ok(block),
            false => Err("no more".into()),
        }
    }

    fn free(&mut self, block: usize) -> Outcome<()> {
        self.next = self.next.min(block);
        Ok(())
    }

    fn start(&self, block: &usize) -> u64 {
        *block as u64
    }

    fn write(&mut self, block: &mut usize, offset: usize, word: u64) {
        self.bytes[*block + offset..][..8].copy_from_slice(&word.to_ne_bytes());
    }

    fn read(&mut self, block: &mut usize, offset: usize) -> u64 {
        u64::from_ne_bytes(self.bytes[*block + offset..][..8].try_into().unwrap())
    }
}

fn kept(step: usize) -> Kept<Fake> {
    let mut kept = Kept::new(Fake { bytes: vec![0; 5 * BYTES], next: 0, step }, 4);
    kept.prepare();
    kept
}

#[test]
fn blocks_keep_their_words_until_they_are_freed() {
    let mut kept = kept(BYTES);
    for order in [FreeOrder::Same, FreeOrder::Reverse] {
        kept.allocate().unwrap();
        kept.touch();
        assert_eq!(kept.wrong(), 0);
        kept.free(order).unwrap();
        assert_eq!(kept.source.next, 0);
    }
    assert!(!kept.reset().unwrap());
}

#[test]
fn a_damaged_block_is_counted() {
    for at in [BYTES, BYTES + PAGE_BYTES] {
        let mut kept = kept(BYTES);
        kept.allocate().unwrap();
        kept.touch();
        kept.source.bytes[at] ^= 1;
        assert_eq!(kept.wrong(), 1, "{at}");
    }
}

#[test]
fn blocks_that_overlap_are_noticed_wherever_they_do() {
    for step in [BYTES - 8, BYTES - 16, BYTES / 2 + 8] {
        let mut kept = kept(step);
        kept.allocate().unwrap();
        kept.touch();
        assert!(kept.wrong() > 0, "{step}");
    }
}

#[test]
fn a_block_that_is_missing_is_wrong_and_forgotten_ones_are_not_freed() {
    let mut short = Kept::new(Fake { bytes: vec![0; BYTES], next: 0, step: BYTES }, 2);
    short.prepare();
    assert!(short.allocate().is_err());
    short.touch();
    assert_eq!(short.wrong(), 1);
    let mut kept = kept(BYTES);
    kept.allocate().unwrap();
    kept.forget();
    kept.free(FreeOrder::Same).unwrap();
    assert_eq!(kept.source.next, 4 * BYTES);
}
