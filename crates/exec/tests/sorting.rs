//! Orders of rows compared with those of a stable sort by their values.

#[path = "world/random.rs"]
mod random;

use std::cmp::Ordering;

use random::Random;
use remanent_exec::{Given, Refused, Slice, SortBound, SortKey, Texts, sort_rows};

/// Values of a column; those that are null are none.
#[derive(Clone, Debug)]
enum Values {
    Small(Vec<Option<i16>>),
    Long(Vec<Option<i64>>),
    Wide(Vec<Option<i128>>),
    Floats(Vec<Option<f64>>),
    Words(Vec<Option<String>>),
}

#[derive(Clone, Debug)]
struct Column {
    values: Values,
    descending: bool,
    nulls_first: bool,
}

struct OwnTexts<'t>(&'t [Option<String>]);

impl Texts for OwnTexts<'_> {
    fn rows(&self) -> usize {
        self.0.len()
    }

    fn get(&self, row: usize) -> &[u8] {
        self.0[row].as_deref().unwrap_or("any text, for null").as_bytes()
    }

    fn view(&self, row: usize) -> u128 {
        row as u128
    }
}

fn bitmap<T>(values: &[Option<T>]) -> Option<Vec<u64>> {
    let mut words = vec![0; values.len().div_ceil(64)];
    let nulls = values.iter().enumerate().filter(|(_, value)| value.is_none());
    nulls.for_each(|(row, _)| words[row / 64] |= 1 << (row % 64));
    words.iter().any(|word| *word != 0).then_some(words)
}

/// PostgreSQL's order of floats.
fn of_floats(one: f64, other: f64) -> Ordering {
    one.partial_cmp(&other).unwrap_or_else(|| one.is_nan().cmp(&other.is_nan()))
}

impl Column {
    fn compare(&self, one: usize, other: usize) -> Ordering {
        match &self.values {
            Values::Small(values) => self.ordered(&values[one], &values[other], Ord::cmp),
            Values::Long(values) => self.ordered(&values[one], &values[other], Ord::cmp),
            Values::Wide(values) => self.ordered(&values[one], &values[other], Ord::cmp),
            Values::Words(values) => self.ordered(&values[one], &values[other], Ord::cmp),
            Values::Floats(values) => {
                self.ordered(&values[one], &values[other], |one, other| of_floats(*one, *other))
            }
        }
    }

    fn ordered<T>(
        &self,
        one: &Option<T>,
        other: &Option<T>,
        order: impl Fn(&T, &T) -> Ordering,
    ) -> Ordering {
        match (one, other) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) if self.nulls_first => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => self.ordered(other, one, order).reverse(),
            (Some(one), Some(other)) if self.descending => order(other, one),
            (Some(one), Some(other)) => order(one, other),
        }
    }

    /// Goes on with the column as a key.
    fn with_key<T>(&self, go: impl FnOnce(SortKey<'_>) -> T) -> T {
        fn plain<T: Copy>(values: &[Option<T>], null: T) -> Vec<T> {
            values.iter().map(|value| value.unwrap_or(null)).collect()
        }
        let key = |values, nulls| SortKey {
            values: Given { values, nulls, range: None },
            descending: self.descending,
            nulls_first: self.nulls_first,
        };
        match &self.values {
            Values::Small(values) => {
                go(key(Slice::I16(&plain(values, i16::MIN)), bitmap(values).as_deref()))
            }
            Values::Long(values) => {
                go(key(Slice::I64(&plain(values, 0)), bitmap(values).as_deref()))
            }
            Values::Wide(values) => {
                go(key(Slice::I128(&plain(values, 0)), bitmap(values).as_deref()))
            }
            Values::Floats(values) => {
                go(key(Slice::F64(&plain(values, f64::NAN)), bitmap(values).as_deref()))
            }
            Values::Words(values) => {
                go(key(Slice::Texts(&OwnTexts(values)), bitmap(values).as_deref()))
            }
        }
    }
}

/// The order by keys, as `sort_rows` finds it.
fn order(columns: &[Column], rows: usize) -> Vec<u32> {
    fn go(columns: &[Column], rows: usize, keys: &[SortKey<'_>]) -> Vec<u32> {
        match columns.get(keys.len()) {
            Some(column) => column.with_key(|key| go(columns, rows, &[keys, &[key]].concat())),
            None => {
                let order = sort_rows(keys, rows, &mut |_| true, &mut || false);
                order.expect("memory").expect("numbers and texts")
            }
        }
    }
    go(columns, rows, &[])
}

fn expected(columns: &[Column], rows: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..rows as u32).collect();
    order.sort_by(|one, other| {
        let mut orders = columns.iter().map(|it| it.compare(*one as usize, *other as usize));
        orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    });
    order
}

fn words(random: &mut Random, kind: u64) -> String {
    let mut letters = |count: u64, of: u64| -> String {
        (0..random.below(count + 1)).map(|_| (b'a' + random.below(of) as u8) as char).collect()
    };
    match kind {
        0 => letters(3, 2),
        1 => format!("the same {}", letters(12, 3)),
        2 => format!("{}\0", letters(9, 2)),
        _ => letters(14, 26),
    }
}

fn values(random: &mut Random, rows: usize) -> Values {
    fn of<T>(
        random: &mut Random,
        rows: usize,
        nulls: u64,
        mut value: impl FnMut(&mut Random) -> T,
    ) -> Vec<Option<T>> {
        (0..rows).map(|_| (random.below(10) >= nulls).then(|| value(random))).collect()
    }
    let nulls = [0, 0, 3, 10][random.below(4) as usize];
    match random.below(8) {
        0 => Values::Small(of(random, rows, nulls, |it| it.below(6) as i16 - 3)),
        1 => Values::Small(of(random, rows, nulls, |it| it.below(1 << 16) as u16 as i16)),
        2 => Values::Long(of(random, rows, nulls, |it| it.below(u64::MAX) as i64)),
        3 => Values::Long(of(random, rows, nulls, |it| it.of(&[i64::MIN, i64::MAX, 0]))),
        4 => Values::Wide(of(random, rows, nulls, |it| {
            let any = i128::from(it.below(u64::MAX)) << 60;
            it.of(&[i128::MIN, i128::MAX, 7, any])
        })),
        5 => Values::Floats(of(random, rows, nulls, |it| {
            let any = f64::from_bits(it.below(u64::MAX));
            it.of(&[0.0, -0.0, f64::NAN, -f64::NAN, 1.5, f64::NEG_INFINITY, any])
        })),
        kind => {
            let kind = kind - 6 + 2 * random.below(2);
            Values::Words(of(random, rows, nulls, |it| words(it, kind)))
        }
    }
}

#[test]
fn orders_are_those_of_a_stable_sort() {
    for seed in 0..600 {
        let mut random = Random(seed);
        let rows = match random.below(4) {
            0 => random.below(5),
            1 => 2000 + random.below(1000),
            _ => random.below(100),
        } as usize;
        let columns: Vec<_> = (0..1 + random.below(4))
            .map(|_| Column {
                values: values(&mut random, rows),
                descending: random.below(2) == 0,
                nulls_first: random.below(2) == 0,
            })
            .collect();
        let (found, wanted) = (order(&columns, rows), expected(&columns, rows));
        assert_eq!(found, wanted, "seed {seed}: {columns:?}");
    }
}

/// Many rows: in passes, from the first byte on, and with runs that only comparing tells apart.
#[test]
fn many_rows_are_sorted() {
    let rows = 200_000;
    let mut random = Random(7);
    let mut numbers = |of: &mut dyn FnMut(u64) -> Option<i64>| {
        let values = (0..rows).map(|_| of(random.below(u64::MAX))).collect();
        Column { values: Values::Long(values), descending: false, nulls_first: false }
    };
    let few = Column { descending: true, ..numbers(&mut |it| Some((it >> 40) as i64 % 1000)) };
    let long = numbers(&mut |it| (it % 7 > 0).then_some(it as i64));
    let skewed = numbers(&mut |it| Some(if it % 5 > 0 { 9 } else { it as i64 }));
    // More of them than get ranks, and their first bytes do not tell them apart.
    let word =
        |row: usize| format!("a long beginning {:05} and {}", row * 7919 % 70_001 / 10, row % 13);
    let words = (0..rows).map(|row| Some(word(row)));
    let words = Values::Words(words.collect());
    let words = Column { values: words, descending: true, nulls_first: true };
    for columns in [
        vec![few.clone()],
        vec![few.clone(), long.clone()],
        vec![long.clone(), few.clone()],
        vec![skewed.clone(), long, few.clone()],
        vec![words.clone(), few],
        vec![skewed, words],
    ] {
        assert!(order(&columns, rows) == expected(&columns, rows));
    }
}

/// Every refusal and every wish to stop ends it.
#[test]
fn it_ends_when_it_is_told_to() {
    let rows = 70_000;
    let texts: Vec<_> = (0..rows).map(|row| Some(format!("{:06}", row * 31 % 50_000))).collect();
    let texts = OwnTexts(&texts);
    let numbers: Vec<i64> = (0..rows as i64).map(|row| (row * 7919 % 65_537) << 40).collect();
    let key = |values| SortKey {
        values: Given { values, nulls: None, range: None },
        descending: false,
        nulls_first: false,
    };
    let keys = [key(Slice::I64(&numbers)), key(Slice::Texts(&texts)), key(Slice::I64(&numbers))];
    for keys in [&keys[..], &keys[1..], &keys[..1]] {
        let (mut asked, mut wished) = (0, 0);
        let mut memory = |_| {
            asked += 1;
            true
        };
        let mut stop = || {
            wished += 1;
            false
        };
        let found = sort_rows(keys, rows, &mut memory, &mut stop);
        assert!(found.is_ok_and(|order| order.is_some_and(|order| order.len() == rows)));
        assert!(asked > 2 && wished > 2);
        for last in 0..asked {
            let mut left = last;
            let mut memory = |_| {
                left -= 1;
                left >= 0
            };
            assert_eq!(sort_rows(keys, rows, &mut memory, &mut || false), Err(Refused));
        }
        for last in 0..wished {
            let mut left = last;
            let mut stop = || {
                left -= 1;
                left < 0
            };
            assert_eq!(sort_rows(keys, rows, &mut |_| true, &mut stop), Err(Refused));
        }
    }
    let none = key(Slice::Other);
    assert_eq!(sort_rows(&[none], rows, &mut |_| true, &mut || false), Ok(None));
}

#[test]
fn bounds_stand_to_rows_as_sorts_have_it() {
    let (mut before_any, mut equal_to_any, mut nulls) = (0, 0, 0);
    for seed in 0..600 {
        let mut random = Random(seed);
        let rows =
            1 + if random.below(4) == 0 { 1500 + random.below(1500) } else { random.below(60) };
        let rows = rows as usize;
        let (descending, nulls_first) = (random.below(2) == 0, random.below(2) == 0);
        let column = Column { values: values(&mut random, rows), descending, nulls_first };
        let (row, another) =
            (random.below(rows as u64) as usize, random.below(rows as u64) as usize);
        column.with_key(|key| {
            let bound = SortBound::of(&key, row).expect("numbers and texts");
            let (mut before, mut equal) = (Vec::new(), Vec::new());
            assert!(bound.split(&key.values, rows, &mut before, &mut equal));
            let those = |wanted: Ordering| -> Vec<u32> {
                let rows = (0..rows).filter(|other| column.compare(*other, row) == wanted);
                rows.map(|row| row as u32).collect()
            };
            assert_eq!(before, those(Ordering::Less), "seed {seed}, row {row}: {column:?}");
            assert_eq!(equal, those(Ordering::Equal), "seed {seed}, row {row}: {column:?}");
            let other = SortBound::of(&key, another).expect("numbers and texts");
            assert_eq!(bound.compare(&other), column.compare(row, another), "seed {seed}");
            before_any += usize::from(!before.is_empty());
            equal_to_any += usize::from(equal.len() > 1);
            nulls += usize::from(bound.is_null());
        });
    }
    assert!(before_any > 300 && equal_to_any > 100 && nulls > 30);
}

#[test]
fn bounds_of_other_kinds_split_nothing() {
    let key = |values| SortKey {
        values: Given { values, nulls: None, range: None },
        descending: false,
        nulls_first: false,
    };
    let bound = SortBound::of(&key(Slice::I64(&[3])), 0).expect("a number");
    let (mut before, mut equal) = (Vec::new(), Vec::new());
    let floats = key(Slice::F64(&[1.0]));
    assert!(!bound.split(&floats.values, 1, &mut before, &mut equal));
    assert!(before.is_empty() && equal.is_empty());
    assert_eq!(SortBound::of(&key(Slice::Other), 0), None);
}
