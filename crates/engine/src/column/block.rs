//! The columns of a segment as one block of bytes that refers to itself by offsets alone.
//!
//! | bytes | content |
//! | --- | --- |
//! | 0..4 | how many columns |
//! | 4..8 | how many rows, those that are not there included |
//! | 8..12 | how many rows are there |
//! | 12..16 | 0 |
//! | 16..24 | offset of a bitmap of the rows that are there; 0 if all are |
//! | 24..32 | bytes of the block |
//! | 32..40 | offset of the columns' sketches, 256 bytes each (`sketch.rs`); 0 if there are none |
//! | 64.. | the heads of the columns, 96 bytes each (`head.rs`) |
//!
//! then bitmaps and arrays, each from a multiple of 64 on. A row is put together from its columns
//! byte for byte as it was.

use remanent_schema::{ColumnType, KeyPlan, Leaf, NO_NULL_BIT, RowLayout};

use super::ALIGNMENT;
use super::encode::{EncodedColumn, encode, encode_narrow};
use super::ends::{self, Ends};
use super::fsst::{Extremes, Symbols};
use super::gather::{gather, is_narrow};
use super::head::{
    ALL_NULL, CONSTANT, DICTIONARY, FSST, HEAD_SIZE, HeadRef, OFFSETS, PLAIN, STRINGS,
};
use super::kind::{Kind, read_number};
use super::sketch::SKETCH_SIZE;
use super::train::in_symbols;
use crate::memory::atomic::prefetch;

/// Offset of the heads.
pub(crate) const HEADS_AT: usize = 64;

/// The most bytes of a block.
pub(crate) const BLOCK_LEN_MAX: usize = 1 << 29;

/// Encoded columns that are not in a block yet.
pub(crate) struct EncodedBlock {
    rows: u32,
    live: u32,
    present: Vec<u64>,
    columns: Vec<EncodedColumn>,
    /// Offset of their sketches; 0 if they have none.
    sketches: usize,
    len: usize,
}

/// The block of a segment.
#[derive(Clone, Copy)]
pub(crate) struct Block<'b> {
    bytes: &'b [u8],
}

/// One column of a block.
#[derive(Clone, Copy)]
pub(crate) struct BlockColumn<'b> {
    pub(crate) head: HeadRef<'b>,
    pub(crate) block: Block<'b>,
    number: usize,
    /// Where its arrays lie, and which byte of the block the first of these is: in the block, or in
    /// a copy of what belongs to the column.
    arrays: &'b [u8],
    arrays_at: u64,
}

impl EncodedBlock {
    /// Encodes rows, each as its bytes; `None` is one that is not there. `None` if they are too
    /// large for a block.
    pub(crate) fn of_rows(layout: &RowLayout, rows: &[Option<&[u8]>]) -> Option<Self> {
        let mut columns = Vec::with_capacity(layout.leaves().len());
        let mut values = vec![None; rows.len()];
        let has_all = rows.iter().all(Option::is_some);
        for (leaf, mut numbers) in gather(layout, rows).into_iter().enumerate() {
            let of_leaf = &layout.leaves()[leaf];
            let kind = Kind::of(&of_leaf.column_type);
            if is_narrow(of_leaf) && has_all && !of_leaf.nullable {
                columns.push(encode_narrow(&mut numbers, &[], Vec::new(), kind));
                continue;
            }
            let mut nulls = vec![0; rows.len().div_ceil(64)];
            for (i, (value, row)) in values.iter_mut().zip(rows).enumerate() {
                let found = row.map(|row| layout.get_bytes(row, leaf));
                if found == Some(None) {
                    nulls[i / 64] |= 1 << (i % 64);
                }
                *value = found.flatten().map(|bytes| trimmed(of_leaf, bytes));
            }
            columns.push(match of_leaf.column_type {
                _ if is_narrow(of_leaf) => encode_narrow(&mut numbers, &values, nulls, kind),
                ColumnType::String { .. } => in_symbols(encode(kind, &values, nulls)?, &values),
                _ => encode(kind, &values, nulls)?,
            });
        }
        let mut present = vec![0; rows.len().div_ceil(64)];
        for i in (0..rows.len()).filter(|&i| rows[i].is_some()) {
            present[i / 64] |= 1 << (i % 64);
        }
        Self::of_columns(rows.len() as u32, present, columns)
    }

    /// A block of columns that are encoded, of the rows that are marked.
    pub(crate) fn of_columns(
        rows: u32,
        present: Vec<u64>,
        mut columns: Vec<EncodedColumn>,
    ) -> Option<Self> {
        let live = present.iter().map(|word| word.count_ones()).sum();
        let present = if live == rows { Vec::new() } else { present };
        let mut end = HEADS_AT + columns.len() * HEAD_SIZE;
        let mut reserve = |len: usize| {
            if len == 0 {
                return 0;
            }
            let at = end.next_multiple_of(ALIGNMENT);
            end = at + len;
            at as u64
        };
        reserve(present.len() * 8);
        let sketches = columns.iter().filter(|column| column.sketch.is_some()).count();
        let sketches = reserve(sketches * SKETCH_SIZE) as usize;
        for column in &mut columns {
            column.head.nulls = reserve(column.nulls.len() * 8);
            column.head.data = reserve(column.data.len());
            column.head.values = reserve(column.values.len());
            column.head.text = reserve(column.text.len());
            column.head.text_len = column.text.len() as u64;
        }
        (end <= BLOCK_LEN_MAX).then_some(Self { rows, live, present, columns, sketches, len: end })
    }

    /// Bytes of the block.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The number of rows in the columns.
    pub(crate) fn rows(&self) -> u32 {
        self.rows
    }

    /// Rows that are there.
    pub(crate) fn live(&self) -> u32 {
        self.live
    }

    /// Writes the block into so many bytes.
    pub(crate) fn write(&self, out: &mut [u8]) {
        out.fill(0);
        let columns = self.columns.len() as u32;
        for (bytes, number) in out.chunks_exact_mut(4).zip([columns, self.rows, self.live]) {
            bytes.copy_from_slice(&number.to_le_bytes());
        }
        let heads_end = HEADS_AT + self.columns.len() * HEAD_SIZE;
        if !self.present.is_empty() {
            let at = heads_end.next_multiple_of(ALIGNMENT);
            out[16..24].copy_from_slice(&(at as u64).to_le_bytes());
            put_words(&mut out[at..], &self.present);
        }
        out[24..32].copy_from_slice(&(self.len as u64).to_le_bytes());
        out[32..40].copy_from_slice(&(self.sketches as u64).to_le_bytes());
        let sketches = self.columns.iter().filter_map(|column| column.sketch.as_deref());
        for (place, sketch) in out[self.sketches..].chunks_exact_mut(SKETCH_SIZE).zip(sketches) {
            place.copy_from_slice(sketch.registers());
        }
        for (i, column) in self.columns.iter().enumerate() {
            let head = &column.head;
            let at = HEADS_AT + i * HEAD_SIZE;
            out[at..at + HEAD_SIZE].copy_from_slice(&head.to_bytes());
            put_words(&mut out[head.nulls as usize..], &column.nulls);
            put_bytes(&mut out[head.data as usize..], &column.data);
            put_bytes(&mut out[head.values as usize..], &column.values);
            put_bytes(&mut out[head.text as usize..], &column.text);
        }
    }
}

impl<'b> Block<'b> {
    /// The block in these bytes, which [`EncodedBlock::write`] wrote or `check.rs` has passed.
    #[inline]
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes }
    }

    /// Its bytes.
    pub(crate) fn bytes(self) -> &'b [u8] {
        self.bytes
    }

    /// The number of columns.
    pub(crate) fn columns(self) -> usize {
        self.number(0) as usize
    }

    /// The number of rows, including those that are not there.
    #[inline]
    pub(crate) fn rows(self) -> u32 {
        self.number(4)
    }

    /// The number of rows that are there.
    pub(crate) fn live(self) -> u32 {
        self.number(8)
    }

    /// Whether a row is there.
    #[inline]
    pub(crate) fn has(self, row: u32) -> bool {
        row < self.rows() && self.present().is_none_or(|bitmap| bit(bitmap, row as usize))
    }

    /// The bitmap of the rows that are there; `None` if all are.
    #[inline]
    pub(crate) fn present(self) -> Option<&'b [u8]> {
        match self.long(16) as usize {
            0 => None,
            at => Some(&self.bytes[at..at + self.bitmap_len()]),
        }
    }

    /// Offset of that bitmap; 0 if there is none.
    pub(crate) fn present_at(self) -> u64 {
        self.long(16)
    }

    /// Offset of the columns' sketches; 0 if there are none.
    pub(crate) fn sketches_at(self) -> u64 {
        self.long(32)
    }

    /// Bytes of the block, as it says.
    pub(crate) fn len(self) -> usize {
        self.long(24) as usize
    }

    /// Bytes of a bitmap with a bit for each row.
    #[inline]
    pub(crate) fn bitmap_len(self) -> usize {
        (self.rows() as usize).div_ceil(64) * 8
    }

    /// A column.
    #[inline]
    pub(crate) fn column(self, column: usize) -> BlockColumn<'b> {
        let head = self.bytes.get(HEADS_AT + column * HEAD_SIZE..);
        let head = head.and_then(|rest| rest.first_chunk::<HEAD_SIZE>());
        let head = HeadRef::new(head.unwrap_or(&[0; HEAD_SIZE]));
        BlockColumn { head, block: self, number: column, arrays: self.bytes, arrays_at: 0 }
    }

    /// A column whose arrays lie in `extent`, a copy of its extent, which begins at this byte of
    /// the block.
    pub(crate) fn column_in(self, column: usize, extent: &'b [u8], at: u64) -> BlockColumn<'b> {
        BlockColumn { arrays: extent, arrays_at: at, ..self.column(column) }
    }

    /// Bytes of a row that is there.
    pub(crate) fn row_len(self, layout: &RowLayout, row: u32) -> usize {
        let variable = layout.leaves().iter().enumerate();
        let variable = variable.filter(|(_, leaf)| leaf.variable_index.is_some());
        let text = variable.map(|(i, _)| self.column(i).text_len_of(row as usize));
        layout.fixed_size() + text.sum::<usize>()
    }

    /// Asks the processor for the entries of a row in all columns, for whoever is about to put it
    /// together: one column's is not waited for before the next is asked for.
    pub(crate) fn prefetch_row(self, row: u32) {
        for i in 0..self.columns() {
            let (head, row) = (self.column(i).head, row as usize);
            let ask = |at: usize| prefetch(self.bytes.as_ptr().wrapping_add(at));
            let (data, width) = (head.data() as usize, head.width() as usize);
            match head.encoding() {
                STRINGS | FSST => ask(data + ends::offset_of(row, head.width())),
                OFFSETS if width == 3 => {
                    ask(data + row * 2);
                    ask(data + self.rows() as usize * 2 + row);
                }
                _ => ask(data + row * width),
            }
            if head.nulls() != 0 {
                ask(head.nulls() as usize + row / 8);
            }
        }
    }

    /// Puts a row that is there together, in exactly its bytes.
    pub(crate) fn write_row(self, layout: &RowLayout, row: u32, out: &mut [u8]) {
        let row = row as usize;
        out[layout.null_offset()..layout.fixed_size()].fill(0);
        let mut end = layout.fixed_size();
        for (i, leaf) in layout.leaves().iter().enumerate() {
            let column = self.column(i);
            if leaf.variable_index.is_some() {
                end += column.write_text_of(row, &mut out[end..]);
            }
            column.write_leaf(layout, leaf, row, out, end);
        }
        debug_assert_eq!(end, out.len());
    }

    /// Puts so much of a row together that a key can be made of it: of columns that are no part of
    /// the key it has zeros and empty text.
    pub(crate) fn write_key(self, layout: &RowLayout, key: &KeyPlan, row: u32, out: &mut Vec<u8>) {
        out.clear();
        out.resize(layout.fixed_size(), 0);
        for (i, leaf) in layout.leaves().iter().enumerate() {
            if key.leaves().any(|part| part == i) {
                let column = self.column(i);
                if leaf.variable_index.is_some() {
                    column.append_text_of(row as usize, out);
                }
                let end = out.len();
                column.write_leaf(layout, leaf, row as usize, out, end);
            } else if leaf.variable_index.is_some() {
                let (offset, end) = (leaf.offset as usize, out.len() as u32);
                out[offset..offset + 4].copy_from_slice(&end.to_le_bytes());
            }
        }
    }

    /// `len` bytes from `at` on.
    #[inline]
    pub(crate) fn part(self, at: u64, len: usize) -> &'b [u8] {
        &self.bytes[at as usize..at as usize + len]
    }

    #[inline]
    fn number(self, at: usize) -> u32 {
        read_number(&self.bytes[at..], 4, 0)
    }

    #[inline]
    fn long(self, at: usize) -> u64 {
        u64::from(self.number(at)) | u64::from(self.number(at + 4)) << 32
    }
}

impl<'b> BlockColumn<'b> {
    /// `len` bytes of its arrays, from byte `at` of the block on.
    #[inline]
    fn part(&self, at: u64, len: usize) -> &'b [u8] {
        let at = (at - self.arrays_at) as usize;
        &self.arrays[at..at + len]
    }

    /// Whether a row's value is null.
    #[inline]
    pub(crate) fn is_null(&self, row: usize) -> bool {
        self.head.nulls() != 0 && bit(self.nulls(), row)
    }

    /// The null bitmap, if there is one.
    #[inline]
    pub(crate) fn nulls(&self) -> &'b [u8] {
        self.part(self.head.nulls(), self.block.bitmap_len())
    }

    /// The array that has one entry of `width` bytes for each row.
    #[inline]
    pub(crate) fn data(&self) -> &'b [u8] {
        let width = self.head.width() as usize;
        self.part(self.head.data(), self.block.rows() as usize * width)
    }

    /// The registers of its sketch, if it has one.
    pub(crate) fn sketch(&self) -> Option<&'b [u8]> {
        match self.block.sketches_at() {
            0 => None,
            at => Some(self.block.part(at + (self.number * SKETCH_SIZE) as u64, SKETCH_SIZE)),
        }
    }

    /// Of offsets and plain numbers: the pairs of its zones; empty if it has none.
    #[inline]
    pub(crate) fn zone_pairs(&self) -> &'b [u8] {
        let head = &self.head;
        if !matches!(head.encoding(), OFFSETS | PLAIN) || head.values() == 0 {
            return &[];
        }
        let len = head.value_count() as usize * 2 * head.value_size() as usize;
        self.part(head.values(), len)
    }

    /// Bytes of the text of a row, of a column of text.
    #[inline]
    pub(crate) fn text_len_of(&self, row: usize) -> usize {
        match self.symbols() {
            Some((symbols, _)) => symbols.text_len(self.codes_of(row)),
            None => self.text_of(row).len(),
        }
    }

    /// Writes the text of a row, of a column of text, and says how many bytes it has.
    #[inline]
    pub(crate) fn write_text_of(&self, row: usize, out: &mut [u8]) -> usize {
        if let Some((symbols, _)) = self.symbols() {
            return symbols.write_text(self.codes_of(row), out);
        }
        let text = self.text_of(row);
        out[..text.len()].copy_from_slice(text);
        text.len()
    }

    /// Puts the text of a row, of a column of text, behind what is there.
    #[inline]
    pub(crate) fn append_text_of(&self, row: usize, out: &mut Vec<u8>) {
        match self.symbols() {
            Some((symbols, _)) => symbols.append(self.codes_of(row), out),
            None => out.extend_from_slice(self.text_of(row)),
        }
    }

    /// The symbols that the text is written in, and its extremes, if it is.
    #[inline]
    pub(crate) fn symbols(&self) -> Option<(Symbols<'b>, Extremes<'b>)> {
        let head = &self.head;
        if head.encoding() != FSST {
            return None;
        }
        let table = self.part(head.values(), head.value_size() as usize);
        Symbols::read(table, head.value_count() as usize)
    }

    /// The codes of a row's text, which is written in symbols.
    #[inline]
    pub(crate) fn codes_of(&self, row: usize) -> &'b [u8] {
        &self.text()[self.ends().range(row)]
    }

    /// The text of a row, of a column of text that is not written in symbols; empty if it is null.
    #[inline]
    pub(crate) fn text_of(&self, row: usize) -> &'b [u8] {
        let head = &self.head;
        match head.encoding() {
            CONSTANT if !self.is_null(row) => self.text(),
            STRINGS => &self.text()[self.ends().range(row)],
            DICTIONARY if !self.is_null(row) => {
                let code = read_number(self.data(), head.width() as usize, row);
                self.dictionary_text(code as usize)
            }
            _ => &[],
        }
    }

    /// The text with a code, of a dictionary of text.
    #[inline]
    pub(crate) fn dictionary_text(&self, code: usize) -> &'b [u8] {
        &self.text()[Ends::read(self.value_ends(), ends::WIDE).range(code)]
    }

    /// Text behind one another, or the constant.
    #[inline]
    pub(crate) fn text(&self) -> &'b [u8] {
        match self.head.text_len() as usize {
            // Where no text lies is said nowhere.
            0 => &[],
            len => self.part(self.head.text(), len),
        }
    }

    /// Of plain strings and of FSST: where each row's text or codes end.
    #[inline]
    pub(crate) fn ends(&self) -> Ends<'b> {
        let width = self.head.width();
        let len = ends::size_of_ends(self.block.rows() as usize, width);
        Ends::read(self.part(self.head.data(), len), width)
    }

    /// Of a dictionary of text: where each value ends, behind a 0.
    #[inline]
    pub(crate) fn value_ends(&self) -> &'b [u8] {
        self.part(self.head.values(), (self.head.value_count() as usize + 1) * 4)
    }

    /// Of a dictionary of fixed values: the values.
    #[inline]
    pub(crate) fn values(&self) -> &'b [u8] {
        let len = self.head.value_count() as usize * self.head.value_size() as usize;
        self.part(self.head.values(), len)
    }

    /// Writes what a row's value has in the fixed part and among the null bits; of text in the
    /// variable part, where it ends.
    #[inline]
    fn write_leaf(&self, layout: &RowLayout, leaf: &Leaf, row: usize, out: &mut [u8], end: usize) {
        let is_null = self.is_null(row);
        if is_null && leaf.null_bit != NO_NULL_BIT {
            let byte = layout.null_offset() + usize::from(leaf.null_bit / 8);
            out[byte] |= 1 << (leaf.null_bit % 8);
        }
        let place = &mut out[leaf.offset as usize..];
        match Kind::of(&leaf.column_type) {
            Kind::Nothing => {}
            Kind::Bytes { padded: None } => {
                place[..4].copy_from_slice(&(end as u32).to_le_bytes());
            }
            Kind::Bytes { padded: Some(size) } => {
                let text = self.text_of(row);
                place[..text.len()].copy_from_slice(text);
                place[text.len()..size].fill(0);
            }
            Kind::Integer { size, .. } | Kind::Float { size } | Kind::Fixed { size } => {
                let place = &mut place[..size];
                if is_null { place.fill(0) } else { self.write_fixed(row, place) }
            }
        }
    }

    /// Writes the value of a row, of a column of fixed values, that is not null.
    #[inline]
    pub(crate) fn write_fixed(&self, row: usize, out: &mut [u8]) {
        let head = &self.head;
        let width = head.width() as usize;
        match head.encoding() {
            CONSTANT => put(out, self.text()),
            PLAIN => put(out, &self.data()[row * width..]),
            OFFSETS => {
                let least = head.zone().map_or(0, |(least, _)| least);
                let number = least.wrapping_add(read_number(self.data(), width, row).into());
                put(out, &number.to_le_bytes());
            }
            DICTIONARY => {
                let code = read_number(self.data(), width, row) as usize;
                put(out, &self.values()[code * head.value_size() as usize..]);
            }
            _ => {
                debug_assert_eq!(head.encoding(), ALL_NULL);
                out.fill(0);
            }
        }
    }
}

/// The bytes of a leaf as they are stored: Char without what it is padded with.
pub(crate) fn trimmed<'v>(leaf: &Leaf, bytes: &'v [u8]) -> &'v [u8] {
    match Kind::of(&leaf.column_type) {
        Kind::Bytes { padded: Some(_) } => {
            let len = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
            &bytes[..len]
        }
        _ => bytes,
    }
}

/// Whether bit `i` of a bitmap is set.
#[inline]
pub(crate) fn bit(bitmap: &[u8], i: usize) -> bool {
    bitmap[i / 8] >> (i % 8) & 1 == 1
}

/// Fills `out` with the first of these bytes; quicker for numbers than a copy of any length.
#[inline]
fn put(out: &mut [u8], bytes: &[u8]) {
    match out.len() {
        1 => out[0] = bytes[0],
        2 => out.copy_from_slice(&bytes[..2]),
        4 => out.copy_from_slice(&bytes[..4]),
        8 => out.copy_from_slice(&bytes[..8]),
        len => out.copy_from_slice(&bytes[..len]),
    }
}

fn put_words(out: &mut [u8], words: &[u64]) {
    for (bytes, word) in out.chunks_exact_mut(8).zip(words) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
}

fn put_bytes(out: &mut [u8], bytes: &[u8]) {
    out[..bytes.len()].copy_from_slice(bytes);
}
