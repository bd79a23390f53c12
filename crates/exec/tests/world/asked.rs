//! Predicates as a query may have them, evaluated value by value in SQL's three-valued logic.

use std::cmp::Ordering;
use std::sync::Arc;

use remanent_exec::{
    ColumnPredicate, Decoded, Find, Matches, NumberRanges, Pattern, TextBound, TextList,
    TextPattern,
};

use super::random::Random;
use super::{Cell, cells_of};

/// A predicate on one column.
#[derive(Clone, Debug)]
pub(crate) enum Asked {
    Between(i128, i128),
    Less(Cell),
    Equal(Cell),
    In(Vec<Cell>),
    IsNull,
    Like { pattern: String, negated: bool },
    Not(Box<Asked>),
    And(Box<Asked>, Box<Asked>),
    Or(Box<Asked>, Box<Asked>),
}

impl Asked {
    /// What it says of a value; `None` for NULL.
    pub(crate) fn of(&self, cell: &Cell) -> Option<bool> {
        if *cell == Cell::Null
            && !matches!(self, Self::IsNull | Self::Not(_) | Self::And(..) | Self::Or(..))
        {
            return None;
        }
        match self {
            Self::Between(low, high) => {
                let Cell::Number(number) = cell else { return Some(false) };
                Some(low <= number && number <= high)
            }
            Self::Less(than) => Some(order(cell, than) == Some(Ordering::Less)),
            Self::Equal(to) => Some(cell == to),
            // Whether it is among some of which one is NULL is not known, unless it is.
            Self::In(list) => match list.contains(cell) {
                false if list.contains(&Cell::Null) => None,
                found => Some(found),
            },
            Self::IsNull => Some(*cell == Cell::Null),
            Self::Like { pattern, negated } => {
                let Cell::Text(text) = cell else { return Some(false) };
                Some(is_like(text.as_bytes(), pattern.as_bytes()) != *negated)
            }
            Self::Not(asked) => asked.of(cell).map(|truth| !truth),
            Self::And(a, b) => match (a.of(cell), b.of(cell)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
            Self::Or(a, b) => match (a.of(cell), b.of(cell)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
        }
    }

    /// The numbers that meet it, if it is about no more; NULL does not meet it then.
    fn ranges(&self) -> Option<NumberRanges> {
        match self {
            Self::Between(low, high) => Some(NumberRanges::between(*low, *high)),
            Self::Equal(Cell::Number(number)) => Some(NumberRanges::of_list(vec![*number])),
            Self::Less(Cell::Number(number)) => Some(NumberRanges::between(i128::MIN, number - 1)),
            Self::In(list) => {
                let numbers = list.iter().map(|cell| match cell {
                    Cell::Number(number) => Some(*number),
                    _ => None,
                });
                numbers.collect::<Option<_>>().map(NumberRanges::of_list)
            }
            Self::Not(asked) => Some(asked.ranges()?.not()),
            Self::And(a, b) => Some(a.ranges()?.and(&b.ranges()?)),
            Self::Or(a, b) => Some(a.ranges()?.or(&b.ranges()?)),
            _ => None,
        }
    }

    /// The texts that meet it, if it is a list of them or what is in none.
    fn texts(&self) -> Option<TextList> {
        match self {
            Self::Equal(Cell::Text(text)) => Some(TextList::new([text.as_str()], false)),
            Self::In(list) => {
                let texts = list.iter().map(|cell| match cell {
                    Cell::Text(text) => Some(text.as_str()),
                    _ => None,
                });
                Some(TextList::new(texts.collect::<Option<Vec<_>>>()?, false))
            }
            Self::Not(asked) => match asked.as_ref() {
                Self::Equal(Cell::Text(text)) => Some(TextList::new([text.as_str()], true)),
                _ => None,
            },
            Self::Or(a, b) => a.texts()?.joined(b.texts()?).filter(|list| !list.is_negated()),
            Self::And(a, b) => a.texts()?.joined(b.texts()?).filter(TextList::is_negated),
            _ => None,
        }
    }

    /// The text that it compares others with, if it does no more.
    fn bound(&self) -> Option<TextBound> {
        match self {
            Self::Less(Cell::Text(than)) => Some(TextBound::new(than, Ordering::Less, false)),
            Self::Not(asked) => match asked.as_ref() {
                Self::Less(Cell::Text(than)) => Some(TextBound::new(than, Ordering::Greater, true)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Predicates on values such as these, of which some are no value of the column.
    pub(crate) fn draw(cells: &[Cell], random: &mut Random, depth: u32) -> Self {
        let cell = |random: &mut Random| random.of(cells);
        let inner = |random: &mut Random| Box::new(Self::draw(cells, random, depth - 1));
        match random.below(if depth == 0 { 6 } else { 9 }) {
            0 | 1 => match (cell(random), cell(random)) {
                (Cell::Number(a), Cell::Number(b)) => {
                    let shift = i128::from(random.below(3)) - 1;
                    Self::Between(a.min(b) + shift, a.max(b) + shift)
                }
                (a, _) => Self::Less(a),
            },
            2 => Self::Less(cell(random)),
            3 => Self::Equal(cell(random)),
            4 => Self::In((0..random.below(5)).map(|_| cell(random)).collect()),
            5 => Self::IsNull,
            6 => Self::Not(inner(random)),
            7 => Self::And(inner(random), inner(random)),
            _ => Self::Or(inner(random), inner(random)),
        }
    }
}

fn order(a: &Cell, b: &Cell) -> Option<Ordering> {
    match (a, b) {
        (Cell::Number(a), Cell::Number(b)) => Some(a.cmp(b)),
        (Cell::Float(a), Cell::Float(b)) => Some(f64::from_bits(*a).total_cmp(&f64::from_bits(*b))),
        (Cell::Text(a), Cell::Text(b)) => Some(a.cmp(b)),
        (Cell::Bytes(a), Cell::Bytes(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

/// LIKE with `%` alone, letter by letter: which ends of the text are left behind each letter of the
/// pattern.
pub(crate) fn is_like(text: &[u8], pattern: &[u8]) -> bool {
    let mut reached = vec![false; text.len() + 1];
    reached[0] = true;
    for letter in pattern {
        let mut next = vec![false; text.len() + 1];
        let mut any = false;
        for at in 0..=text.len() {
            any |= reached[at];
            match letter {
                b'%' => next[at] = any,
                _ if at > 0 => next[at] = reached[at - 1] && text[at - 1] == *letter,
                _ => {}
            }
        }
        reached = next;
    }
    reached[text.len()]
}

/// A predicate as it is given to a filter.
pub(crate) struct Given {
    pub(crate) asked: Asked,
    pattern: Option<Arc<dyn TextPattern>>,
    ranges: Option<NumberRanges>,
    texts: Option<TextList>,
}

impl Given {
    pub(crate) fn new(asked: Asked) -> Self {
        let pattern = match &asked {
            Asked::Like { pattern, negated } => {
                parse(pattern, *negated).map(|it| Arc::new(it) as Arc<dyn TextPattern>)
            }
            asked => asked.bound().map(|it| Arc::new(it) as Arc<dyn TextPattern>),
        };
        let (ranges, texts) = (asked.ranges(), asked.texts());
        Self { asked, pattern, ranges, texts }
    }
}

impl ColumnPredicate for Given {
    fn ranges(&self) -> Option<&NumberRanges> {
        self.ranges.as_ref()
    }

    fn pattern(&self) -> Option<&Arc<dyn TextPattern>> {
        self.pattern.as_ref()
    }

    fn texts(&self) -> Option<&TextList> {
        self.texts.as_ref()
    }

    fn matches(&self, values: Decoded<'_>) -> Option<Matches> {
        let cells = cells_of(&values, &[]);
        let truths = cells.iter().map(|cell| self.asked.of(cell) == Some(true));
        Some(matches_of(&truths.collect::<Vec<_>>()))
    }
}

/// Truths as they are told to a filter, in all three ways.
pub(crate) fn matches_of(truths: &[bool]) -> Matches {
    if !truths.contains(&true) {
        return Matches::None;
    }
    if !truths.contains(&false) {
        return Matches::All;
    }
    let mut words = vec![0; truths.len().div_ceil(64)];
    for (at, _) in truths.iter().enumerate().filter(|(_, truth)| **truth) {
        words[at / 64] |= 1 << (at % 64);
    }
    Matches::Some(words)
}

/// Finds a part by looking at each place.
#[derive(Debug)]
pub(crate) struct Windows(Vec<u8>);

impl Find for Windows {
    fn find(&self, text: &[u8]) -> Option<usize> {
        text.windows(self.0.len()).position(|window| window == self.0)
    }
}

pub(crate) fn parse(pattern: &str, negated: bool) -> Option<Pattern<Windows>> {
    Pattern::parse(pattern, negated, |part| Windows(part.to_vec()))
}
