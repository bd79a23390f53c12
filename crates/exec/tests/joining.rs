//! Joins of every kind, against loops over all pairs.

#[path = "world/random.rs"]
mod random;

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;

use random::Random;
use remanent_exec::*;

/// The value of a key: a number, or the text of one; what it is the column says.
type Cell = Option<i64>;

/// Values of one column.
struct Column {
    is_text: bool,
    numbers: Vec<i64>,
    texts: Texts8,
    nulls: Vec<u64>,
}

struct Texts8(Vec<Vec<u8>>);

impl Texts for Texts8 {
    fn rows(&self) -> usize {
        self.0.len()
    }

    fn get(&self, row: usize) -> &[u8] {
        &self.0[row]
    }

    fn view(&self, row: usize) -> u128 {
        row as u128
    }
}

impl Column {
    fn new(is_text: bool, cells: &[Cell]) -> Self {
        let numbers = cells.iter().map(|cell| cell.unwrap_or(77)).collect();
        let texts = cells.iter().map(|cell| format!("t{}", cell.unwrap_or(77)).into_bytes());
        let mut nulls = vec![0; cells.len().div_ceil(64).max(1)];
        for (row, _) in cells.iter().enumerate().filter(|(_, cell)| cell.is_none()) {
            nulls[row / 64] |= 1 << (row % 64);
        }
        Self { is_text, numbers, texts: Texts8(texts.collect()), nulls }
    }

    fn given(&self) -> Given<'_> {
        let values = match self.is_text {
            true => Slice::Texts(&self.texts),
            false => Slice::I64(&self.numbers),
        };
        Given { values, nulls: Some(&self.nulls), range: None }
    }
}

/// What comes out: the tuple and the row, if there are such, and the mark.
type Output = (Option<u32>, Option<u32>, Option<bool>);

/// A join of random rows.
struct Case {
    texts: Vec<bool>,
    /// The keys of both sides, row by row.
    build: Vec<Vec<Cell>>,
    probe: Vec<Vec<Cell>>,
    kind: JoinKind,
    nulls_are_equal: bool,
    is_conditional: bool,
    /// Rows of the build side that can meet the condition.
    rows_met: u32,
    /// Tuples that come at once.
    tile: usize,
    /// Builds that the rows of the build side are dealt to.
    builds: usize,
}

const KINDS: [JoinKind; 11] = [
    JoinKind::Pairs { tuples_without: false, rows_without: false },
    JoinKind::Pairs { tuples_without: true, rows_without: false },
    JoinKind::Pairs { tuples_without: false, rows_without: true },
    JoinKind::Pairs { tuples_without: true, rows_without: true },
    JoinKind::Tuples { with: true },
    JoinKind::Tuples { with: false },
    JoinKind::MarkedTuples,
    JoinKind::Rows { with: true },
    JoinKind::Rows { with: false },
    JoinKind::MarkedRows,
    JoinKind::RowsNotIn,
];

/// The row of the first relation that stands for none.
const NO_TUPLE: u32 = 1_000_000;

impl Case {
    fn random(random: &mut Random) -> Self {
        let texts: Vec<bool> =
            (0..random.of(&[1, 1, 1, 2, 3])).map(|_| random.below(4) == 0).collect();
        // Close together, far apart, and so far that two have no room in 8 bytes.
        let (span, step) = random.of(&[(1, 1), (12, 1), (300, 1), (40, 1 << 33), (9, 1 << 59)]);
        let null_in = random.of(&[0, 3, 40]);
        let side = |random: &mut Random, rows: usize, is_unique: bool| -> Vec<Vec<Cell>> {
            let cell = |random: &mut Random, row: usize| {
                let is_null = null_in > 0 && random.below(null_in) == 0;
                let number = match is_unique {
                    true => row as i64 * 3,
                    false => random.below(span) as i64,
                };
                (!is_null).then(|| (number % 500 - 4).wrapping_mul(step))
            };
            (0..rows).map(|row| texts.iter().map(|_| cell(random, row)).collect()).collect()
        };
        let is_unique = random.below(3) == 0;
        let rows = random.of(&[0, 1, 7, 60, 150]);
        let build = side(random, rows, is_unique);
        let tuples = random.of(&[0, 1, 5, 100, 400]);
        let probe = side(random, tuples, false);
        let kind = random.of(&KINDS);
        let is_not_in = kind == JoinKind::RowsNotIn;
        Self {
            texts,
            build,
            probe,
            kind,
            nulls_are_equal: !is_not_in && random.below(4) == 0,
            is_conditional: !is_not_in && random.below(2) == 0,
            rows_met: u32::MAX,
            tile: random.of(&[3, 64, 1000]),
            builds: random.of(&[1, 2, 3]),
        }
    }

    fn meets(&self, tuple: u32, row: u32) -> bool {
        !self.is_conditional || (row < self.rows_met && (tuple * 7 + row * 5).is_multiple_of(3))
    }

    fn is_pair(&self, tuple: u32, row: u32) -> bool {
        let (left, right) = (&self.probe[tuple as usize], &self.build[row as usize]);
        let has_null = left.iter().chain(right).any(Option::is_none);
        left == right && (self.nulls_are_equal || !has_null) && self.meets(tuple, row)
    }

    /// What is expected, by looking at all pairs.
    fn expected(&self) -> Vec<Output> {
        let tuples = 0..self.probe.len() as u32;
        let rows = 0..self.build.len() as u32;
        let of_tuple = |tuple: u32| rows.clone().filter(move |row| self.is_pair(tuple, *row));
        let has_row = |tuple: u32| of_tuple(tuple).next().is_some();
        let has_tuple = |row: u32| tuples.clone().any(|tuple| self.is_pair(tuple, row));
        let mut out: Vec<Output> = Vec::new();
        match self.kind {
            JoinKind::Pairs { tuples_without, rows_without } => {
                for tuple in tuples.clone() {
                    out.extend(of_tuple(tuple).map(|row| (Some(tuple), Some(row), None)));
                    if tuples_without && !has_row(tuple) {
                        out.push((Some(tuple), None, None));
                    }
                }
                let without = rows.clone().filter(|row| rows_without && !has_tuple(*row));
                out.extend(without.map(|row| (None, Some(row), None)));
            }
            JoinKind::Tuples { with } => {
                let kept = tuples.filter(|tuple| has_row(*tuple) == with);
                out.extend(kept.map(|tuple| (Some(tuple), None, None)));
            }
            JoinKind::MarkedTuples => {
                out.extend(tuples.map(|tuple| (Some(tuple), None, Some(has_row(tuple)))));
            }
            JoinKind::Rows { with } => {
                let kept = rows.filter(|row| has_tuple(*row) == with);
                out.extend(kept.map(|row| (None, Some(row), None)));
            }
            JoinKind::MarkedRows => {
                out.extend(rows.map(|row| (None, Some(row), Some(has_tuple(row)))));
            }
            JoinKind::RowsNotIn => {
                let has_null = |key: &Vec<Cell>| key.iter().any(Option::is_none);
                let kept = rows.filter(|row| {
                    let is_null = has_null(&self.build[*row as usize]);
                    let is_in = has_tuple(*row) || self.probe.iter().any(has_null);
                    self.probe.is_empty() || (!is_null && !is_in)
                });
                out.extend(kept.map(|row| (None, Some(row), None)));
            }
        }
        out
    }

    fn columns(&self, keys: &[Vec<Cell>]) -> Vec<Column> {
        let texts = self.texts.iter().enumerate();
        let column = |(at, is_text): (usize, &bool)| {
            let cells: Vec<Cell> = keys.iter().map(|key| key[at]).collect();
            Column::new(*is_text, &cells)
        };
        texts.map(column).collect()
    }

    fn table(&self) -> JoinTable {
        let memory = &mut |_| true;
        let build = self.read(memory).expect("memory");
        build.finish(&vec![true; self.texts.len()], memory).expect("memory")
    }

    /// The build side, whose rows are dealt to several builds that become one.
    fn read(&self, memory: &mut dyn FnMut(usize) -> bool) -> Result<JoinBuild, Refused> {
        let keys: Vec<JoinKey> = self.texts.iter().map(|&is_text| JoinKey { is_text }).collect();
        let new = || JoinBuild::new(&keys, self.nulls_are_equal);
        let mut builds: Vec<JoinBuild> = (0..self.builds).map(|_| new()).collect();
        let (mut counts, mut runs) = (vec![0; self.builds], Vec::new());
        for (at, rows) in self.build.chunks(50).enumerate() {
            let columns = self.columns(rows);
            let given: Vec<Given<'_>> = columns.iter().map(Column::given).collect();
            let build = at * 2 / 3 % self.builds;
            builds[build].add(&given, rows.len(), memory)?;
            let first = counts[build];
            counts[build] += rows.len();
            runs.push(BuildRun { build, rows: first..counts[build] });
        }
        let mut builds = builds.into_iter();
        let mut first = builds.next().expect("a build");
        first.absorb(builds.collect(), &runs, memory)?;
        Ok(first)
    }

    fn found(&self) -> Vec<Output> {
        let table = Arc::new(self.table());
        let mut probe = Probe::new(&table);
        // Relations: tuples, rows of the build side, marks.
        let all = vec![true; 3];
        let relations =
            StageRelations { rows: 1, marks: 2, needed_by_pairs: all.clone(), needed: all };
        let is_conditional = self.is_conditional;
        let mut stage = JoinStage::new(Arc::clone(&table), self.kind, relations, is_conditional);
        let columns = self.columns(&self.probe);
        let sources = columns.iter().map(|it| ProbeSource::first(Source::Given(it.given())));
        let mut keys = table.columns(&sources.collect::<Vec<_>>());
        let mut out = Vec::new();
        for first in (0..self.probe.len()).step_by(self.tile) {
            let end = self.probe.len().min(first + self.tile);
            let tuples = Tuples::of(Selection::Stretch(first, end), 3);
            let mut entries = Vec::new();
            let rows = tuples.all_rows();
            table.find(&mut probe, &mut keys, &[], &rows, &mut entries).expect("memory");
            let nulls = self.probe[first..end].iter();
            let has_null = nulls.flatten().any(Option::is_none);
            stage.add(tuples, entries, has_null);
            let meets = |tuples: &Tuples| -> Result<Vec<u32>, Infallible> {
                let of = |relation: usize| tuples.rows(relation).map(|row| row as u32);
                let pairs = of(0).into_iter().zip(of(1)).zip(0..);
                Ok(pairs.filter(|((t, r), _)| self.meets(*t, *r)).map(|(_, at)| at).collect())
            };
            while let Ok(Some(tuples)) = stage.next(meets) {
                self.note(&tuples, &mut out);
            }
        }
        while let Some(tuples) = stage.next_rows(&[Some(NO_TUPLE), None, None]) {
            self.note(&tuples, &mut out);
        }
        out
    }

    fn note(&self, tuples: &Tuples, out: &mut Vec<Output>) {
        let of = |relation: usize| tuples.rows(relation).map(|row| row as u32);
        let has_rows = !matches!(self.kind, JoinKind::Tuples { .. } | JoinKind::MarkedTuples);
        let has_marks = matches!(self.kind, JoinKind::MarkedTuples | JoinKind::MarkedRows);
        for ((tuple, row), mark) in of(0).into_iter().zip(of(1)).zip(of(2)) {
            let tuple = (tuple != NO_TUPLE).then_some(tuple);
            let row = (has_rows && row < self.build.len() as u32).then_some(row);
            out.push((tuple, row, has_marks.then_some(mark == 1)));
        }
    }
}

#[test]
fn joins_of_random_keys_give_what_loops_over_all_pairs_give() {
    for seed in 0..6_000 {
        let case = Case::random(&mut Random(seed));
        // In the order of tuples, and of rows for each, as the loops have it.
        let (found, expected) = (case.found(), case.expected());
        let of_case = format!(
            "seed {seed}: {:?}, texts {:?}, conditional: {}, nulls are equal: {}, {} and {} rows",
            case.kind,
            case.texts,
            case.is_conditional,
            case.nulls_are_equal,
            case.build.len(),
            case.probe.len()
        );
        assert_eq!(found, expected, "{of_case}");
    }
}

#[test]
fn a_tuple_with_many_rows_is_given_out_in_parts() {
    let many = 100_000;
    let case = Case {
        texts: vec![false],
        build: vec![vec![Some(5)]; many],
        probe: vec![vec![Some(5)], vec![Some(6)], vec![Some(5)]],
        kind: JoinKind::Pairs { tuples_without: true, rows_without: true },
        nulls_are_equal: false,
        is_conditional: false,
        rows_met: u32::MAX,
        tile: 3,
        builds: 2,
    };
    let found = case.found();
    assert_eq!(found.len(), 2 * many + 1);
    assert_eq!(found[many], (Some(1), None, None));
    assert_eq!(found[many - 1], (Some(0), Some(many as u32 - 1), None));
}

/// So many keys far apart that their table has no room in a processor's cache, of one number or of
/// two; some come twice, some are null.
#[test]
fn many_keys_far_apart_find_their_rows() {
    let far = |at: i64| at.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64) >> 1;
    let keys = |width: usize, at: i64| -> Vec<Cell> {
        (0..width as i64).map(|place| Some(far(at + place))).collect()
    };
    let count = 150_000;
    for width in [1, 2] {
        for again in [8, count] {
            // One row of so many has the key of the row before.
            let key_of = |row: i64| row - row / again;
            // Where keys come again, some rows have none, which equals no other.
            let is_null = |row: i64| again < count && row % 1000 == 500;
            let mut rows_of: HashMap<i64, Vec<u32>> = HashMap::new();
            for row in (0..count).filter(|row| !is_null(*row)) {
                rows_of.entry(key_of(row)).or_default().push(row as u32);
            }
            let probe: Vec<i64> = (0..count + 500).rev().step_by(37).collect();
            let case = Case {
                texts: vec![false; width],
                build: (0..count)
                    .map(|row| match is_null(row) {
                        true => vec![None; width],
                        false => keys(width, key_of(row)),
                    })
                    .collect(),
                probe: probe.iter().map(|key| keys(width, *key)).collect(),
                kind: JoinKind::Pairs { tuples_without: true, rows_without: false },
                nulls_are_equal: false,
                is_conditional: false,
                rows_met: u32::MAX,
                tile: 1000,
                builds: 1,
            };
            let expected: Vec<Output> = (0..)
                .zip(&probe)
                .flat_map(|(tuple, key)| match rows_of.get(key) {
                    None => vec![(Some(tuple), None, None)],
                    Some(rows) => rows.iter().map(|row| (Some(tuple), Some(*row), None)).collect(),
                })
                .collect();
            assert!(case.found() == expected, "{width} numbers, one of {again} comes again");
        }
    }
}

/// Rows are compared part by part: a tuple whose last rows do not meet the condition may have met
/// it with others.
#[test]
fn a_tuple_is_decided_when_all_of_its_rows_were_compared() {
    for kind in KINDS.into_iter().filter(|kind| *kind != JoinKind::RowsNotIn) {
        let case = Case {
            texts: vec![false],
            build: vec![vec![Some(5)]; 20_000],
            probe: vec![vec![Some(5)], vec![Some(6)]],
            kind,
            nulls_are_equal: false,
            is_conditional: true,
            rows_met: 10,
            tile: 2,
            builds: 3,
        };
        assert_eq!(case.found(), case.expected(), "{kind:?}");
    }
}

#[test]
fn refused_memory_is_said_and_nothing_panics() {
    for seed in 0..200 {
        let case = Case::random(&mut Random(seed));
        let wanted = vec![true; case.texts.len()];
        let mut calls_left = 0;
        loop {
            let mut left = calls_left;
            let memory = &mut |_| {
                left -= 1;
                left >= 0
            };
            if case.read(memory).is_ok_and(|build| build.finish(&wanted, memory).is_ok()) {
                break;
            }
            calls_left += 1;
            assert!(calls_left < 1000, "seed {seed}: never enough");
        }
    }
}
