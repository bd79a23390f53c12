//! The different values of a column, sorted, and for each row the code of its value among them.
//!
//! Found by a hash table over the values' bytes, with a seed drawn each time; a column in whose
//! first rows nearly every value is new is given up early.

use remanent_schema::hash_key;

use crate::seed::draw_seed;

/// Rows after which a column is given up if most of its values were new, and how many are most.
pub(super) const SAMPLE: usize = 4096;
pub(super) const SAMPLE_DISTINCT_MAX: usize = 2048;

/// An empty bucket of the table.
const EMPTY: u32 = u32::MAX;

/// The different values of a column, and each row's.
pub(crate) struct Distinct<'v> {
    pub(crate) values: Vec<&'v [u8]>,
    /// For each row the code of its value in `values`; 0 for a row without one.
    pub(crate) codes: Vec<u32>,
}

impl<'v> Distinct<'v> {
    /// The values of `rows` that differ; `None` if there are more than `most`, or as good as all.
    pub(crate) fn find(rows: &[Option<&'v [u8]>], most: usize) -> Option<Self> {
        let mut table = CodeTable::new(rows.len());
        let mut found = Self { values: Vec::new(), codes: Vec::with_capacity(rows.len()) };
        for (i, row) in rows.iter().enumerate() {
            let code = row.map_or(0, |value| table.find_or_add(value, &mut found.values));
            found.codes.push(code);
            let given_up = i == SAMPLE && found.values.len() > SAMPLE_DISTINCT_MAX;
            if given_up || found.values.len() > most {
                return None;
            }
        }
        Some(found)
    }

    /// Sorts the values by `compare`; codes follow.
    pub(crate) fn sort_by(&mut self, compare: impl Fn(&[u8], &[u8]) -> std::cmp::Ordering) {
        let mut order: Vec<u32> = (0..self.values.len() as u32).collect();
        order.sort_unstable_by(|&a, &b| compare(self.values[a as usize], self.values[b as usize]));
        let mut new_codes = vec![0; order.len()];
        (0..).zip(&order).for_each(|(new, &old)| new_codes[old as usize] = new);
        self.values = order.iter().map(|&old| self.values[old as usize]).collect();
        if !new_codes.is_empty() {
            self.codes.iter_mut().for_each(|code| *code = new_codes[*code as usize]);
        }
    }

    /// Bytes of a code.
    pub(crate) fn code_width(&self) -> usize {
        match self.values.len() {
            0..=0x100 => 1,
            0x101..=0x1_0000 => 2,
            _ => 4,
        }
    }

    /// Bytes of all values.
    pub(crate) fn bytes(&self) -> usize {
        self.values.iter().map(|value| value.len()).sum()
    }
}

/// A hash table of codes, which index an array of values.
struct CodeTable {
    buckets: Vec<u32>,
    mask: usize,
    seed: u64,
}

impl CodeTable {
    fn new(rows: usize) -> Self {
        let size = (rows * 2).next_power_of_two().max(2);
        Self { buckets: vec![EMPTY; size], mask: size - 1, seed: draw_seed() }
    }

    fn find_or_add<'v>(&mut self, value: &'v [u8], values: &mut Vec<&'v [u8]>) -> u32 {
        let mut bucket = hash_key(self.seed, value) as usize & self.mask;
        loop {
            match self.buckets[bucket] {
                EMPTY => {
                    let code = values.len() as u32;
                    self.buckets[bucket] = code;
                    values.push(value);
                    return code;
                }
                code if values[code as usize] == value => return code,
                _ => bucket = (bucket + 1) & self.mask,
            }
        }
    }
}
