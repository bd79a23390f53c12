//! FSST, compressed text: each byte is a code for up to eight bytes that often stand together.
//!
//! After Boncz, Neumann and Leis (FSST: Fast Random Access String Compression, PVLDB 2020): a table
//! of at most 255 symbols for each column of a segment, chosen by [`train`](super::train); the
//! code 255 says that the byte behind it stands for itself. Any value is read without its
//! neighbours. The table is an array of 8-byte words, whose first bytes are the symbol, and behind
//! them the symbols' lengths, one byte each; behind these the column's least and greatest text, as
//! they are, with their lengths in front.

/// The code of a byte that stands for itself, and follows.
pub(super) const ESCAPE: u8 = 255;

/// The most symbols of a table, and bytes of a symbol.
pub(super) const SYMBOLS_MAX: usize = 255;
pub(super) const SYMBOL_LEN_MAX: usize = 8;

/// The FSST symbols that a column's text is written in.
///
/// # Examples
/// ```
/// use remanent_engine::{Database, Encoding, Options, Piece, schema::*};
/// let db = Database::open(Options::new())?;
/// let table = db.create_table(TableSchema::new("T").column("remark", ColumnType::STRING))?;
/// let remark = table.column("remark")?;
/// let texts: Vec<_> = (0..5000).map(|i| format!("the parcel {i} was left at the door")).collect();
/// db.write(|tx| tx.insert_all_values(&table, texts.iter().map(|it| [Some(it.as_str().into())])))?;
/// db.freeze_all(&table)?;
/// let tx = db.begin_read()?;
/// let mut pieces = tx.scan_pieces(&table)?;
/// let Some(Piece::Frozen(rows)) = pieces.next_piece() else { unreachable!() };
/// let column = rows.column(remark)?;
/// let Encoding::Fsst { ends, codes, symbols } = column.encoding() else {
///     unreachable!("there is much that comes again")
/// };
/// let codes = &codes[ends.range(7)];
/// assert!(codes.len() < texts[7].len() / 2);
/// let mut text = Vec::new();
/// symbols.writer().append(codes, &mut text);
/// assert_eq!(text, texts[7].as_bytes());
/// text.clear();
/// symbols.append(codes, &mut text);
/// assert_eq!(text, texts[7].as_bytes());
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Symbols<'t> {
    words: &'t [[u8; SYMBOL_LEN_MAX]],
    lengths: &'t [u8],
}

/// The least and the greatest text, as they stand behind the symbols.
pub(crate) struct Extremes<'t> {
    pub(crate) least: &'t [u8],
    pub(crate) greatest: &'t [u8],
}

impl<'t> Symbols<'t> {
    /// The code of a byte that stands for itself, and follows.
    pub const ESCAPE: u8 = ESCAPE;

    /// The first `count` symbols of a table, and the extremes behind them; `None` if the bytes are
    /// no such table.
    #[inline]
    pub(super) fn read(table: &'t [u8], count: usize) -> Option<(Self, Extremes<'t>)> {
        let (words, rest) = table.split_at_checked(count * SYMBOL_LEN_MAX)?;
        let (lengths, rest) = rest.split_at_checked(count)?;
        let (least_len, rest) = rest.split_first_chunk::<4>()?;
        let (greatest_len, rest) = rest.split_first_chunk::<4>()?;
        let (least, rest) = rest.split_at_checked(u32::from_le_bytes(*least_len) as usize)?;
        let greatest = rest.get(..u32::from_le_bytes(*greatest_len) as usize)?;
        let (words, _) = words.as_chunks();
        Some((Self { words, lengths }, Extremes { least, greatest }))
    }

    /// A table's bytes.
    pub(super) fn write(symbols: &[Symbol], extremes: &Extremes<'_>) -> Vec<u8> {
        let mut table: Vec<u8> = symbols.iter().flat_map(|it| it.word.to_le_bytes()).collect();
        table.extend(symbols.iter().map(|it| it.len));
        for text in [extremes.least, extremes.greatest] {
            table.extend((text.len() as u32).to_le_bytes());
        }
        table.extend(extremes.least);
        table.extend(extremes.greatest);
        table
    }

    /// Whether the lengths are lengths of symbols.
    pub(super) fn is_well_formed(&self) -> bool {
        let has_len = |len: &u8| (1..=SYMBOL_LEN_MAX).contains(&usize::from(*len));
        !self.lengths.is_empty()
            && self.lengths.len() <= SYMBOLS_MAX
            && self.lengths.iter().all(has_len)
    }

    /// Whether these are codes of symbols that there are, and nothing is cut off.
    pub(super) fn are_codes(&self, codes: &[u8]) -> bool {
        let mut rest = codes.iter();
        while let Some(&code) = rest.next() {
            let is_known = match code {
                ESCAPE => rest.next().is_some(),
                code => usize::from(code) < self.lengths.len(),
            };
            if !is_known {
                return false;
            }
        }
        true
    }

    /// Bytes of the text with these codes.
    #[inline]
    pub fn text_len(&self, codes: &[u8]) -> usize {
        let (mut len, mut rest) = (0, codes.iter());
        while let Some(&code) = rest.next() {
            len += match code {
                ESCAPE => rest.next().map_or(0, |_| 1),
                code => usize::from(self.lengths[usize::from(code)]),
            };
        }
        len
    }

    /// Writes the text with these codes, and says how many bytes it has.
    ///
    /// # Panics
    /// If it has more than there are in `out`, or the codes are not of this column.
    #[inline]
    pub fn write_text(&self, codes: &[u8], out: &mut [u8]) -> usize {
        let (mut at, mut i) = (0, 0);
        while i < codes.len() {
            let code = codes[i];
            i += 1;
            if code == ESCAPE {
                out[at] = codes[i];
                (at, i) = (at + 1, i + 1);
                continue;
            }
            let (word, len) = (&self.words[usize::from(code)], self.lengths[usize::from(code)]);
            match out.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
                // Bytes too many are written over by what follows.
                Some(place) => *place = *word,
                None => out[at..at + usize::from(len)].copy_from_slice(&word[..usize::from(len)]),
            }
            at += usize::from(len);
        }
        at
    }

    /// Puts the text with these codes behind what is there.
    ///
    /// # Panics
    /// If the codes are not of this column.
    #[inline]
    pub fn append(&self, codes: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + self.text_len(codes), 0);
        self.write_text(codes, &mut out[start..]);
    }

    /// A writer for many texts: making it takes as long as writing a few texts.
    pub fn writer(&self) -> SymbolWriter {
        let mut writer = SymbolWriter { words: [[0; SYMBOL_LEN_MAX]; 256], lengths: [0; 256] };
        writer.words[..self.words.len()].copy_from_slice(self.words);
        writer.lengths[..self.lengths.len()].copy_from_slice(self.lengths);
        writer
    }
}

/// Writes texts of one column that are in symbols.
///
/// # Examples
/// See [`Symbols::writer`] and [`Symbols`].
pub struct SymbolWriter {
    /// Code by code, also of codes that stand for nothing: no code need be compared with how many
    /// there are.
    words: [[u8; SYMBOL_LEN_MAX]; 256],
    lengths: [u8; 256],
}

/// Bytes that are written before they are put behind others.
const WRITTEN: usize = 256;

impl SymbolWriter {
    /// Puts the text with these codes behind what is there; codes that are not of the column are
    /// passed over.
    #[inline]
    pub fn append(&self, codes: &[u8], out: &mut Vec<u8>) {
        let (mut text, mut len) = ([0; WRITTEN], 0);
        let mut rest = codes.iter();
        while let Some(&code) = rest.next() {
            if code == ESCAPE {
                if let Some(byte) = rest.next() {
                    text[len] = *byte;
                    len += 1;
                }
            } else {
                // Bytes too many are overwritten: to copy eight is cheaper than to copy some.
                text[len..len + SYMBOL_LEN_MAX].copy_from_slice(&self.words[usize::from(code)]);
                len += usize::from(self.lengths[usize::from(code)]);
            }
            if len > WRITTEN - SYMBOL_LEN_MAX {
                out.extend_from_slice(&text[..len]);
                len = 0;
            }
        }
        out.extend_from_slice(&text[..len]);
    }
}

impl std::fmt::Debug for Symbols<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let symbols = self.words.iter().zip(self.lengths);
        let texts = symbols.map(|(word, len)| word[..usize::from(*len)].escape_ascii().to_string());
        f.debug_list().entries(texts).finish()
    }
}

/// A symbol while a table is made: its bytes as a number, the first the least, and zeros behind.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Symbol {
    pub(super) word: u64,
    pub(super) len: u8,
}

impl Symbol {
    /// The symbol of one byte.
    pub(super) fn byte(byte: u8) -> Self {
        Self { word: byte.into(), len: 1 }
    }

    /// This symbol and then another, as far as a symbol reaches.
    pub(super) fn and(self, next: Self) -> Self {
        if usize::from(self.len) == SYMBOL_LEN_MAX {
            return self;
        }
        let len = (self.len + next.len).min(SYMBOL_LEN_MAX as u8);
        Self { word: self.word | next.word << (8 * self.len), len }
    }
}
