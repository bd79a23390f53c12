//! CRC-32C (Castagnoli, Braeuer, Herrmann, IEEE Transactions on Communications 1993).
//!
//! By the processor's own instruction where it has one, else eight bytes at a time by eight tables
//! (slicing-by-8: Kounavis, Berry, ISCC 2005), made at compile time. Checksums may be continued:
//! the state after some bytes goes on with the next.

#[cfg(target_arch = "x86_64")]
mod hardware;

const POLYNOMIAL: u32 = 0x82f6_3b78;

static TABLES: [[u32; 256]; 8] = tables();

/// A checksum of bytes given so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Checksum(u32);

impl Checksum {
    #[inline]
    pub(crate) fn new() -> Self {
        Self(u32::MAX)
    }

    #[inline]
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        #[cfg(target_arch = "x86_64")]
        if let Some(state) = hardware::add(self.0, bytes) {
            self.0 = state;
            return;
        }
        self.add_by_tables(bytes);
    }

    fn add_by_tables(&mut self, bytes: &[u8]) {
        let (chunks, rest) = bytes.as_chunks::<8>();
        for chunk in chunks {
            let word = u64::from_le_bytes(*chunk) ^ u64::from(self.0);
            self.0 =
                (0..8).fold(0, |crc, i| crc ^ TABLES[7 - i][(word >> (8 * i)) as usize & 0xff]);
        }
        for byte in rest {
            self.0 = self.0 >> 8 ^ TABLES[0][((self.0 ^ u32::from(*byte)) & 0xff) as usize];
        }
    }

    #[inline]
    pub(crate) fn value(self) -> u32 {
        !self.0
    }
}

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut slice = 1;
    while slice < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[slice - 1][byte];
            tables[slice][byte] = before >> 8 ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        slice += 1;
    }
    tables
}

#[cfg(test)]
mod tests;
