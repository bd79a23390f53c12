//! Two columns compared where they lie, against the same numbers compared one by one.

use remanent_engine::schema::{Column, ColumnType, TableSchema, Value};
use remanent_engine::{Database, Options, Piece, Table};
use remanent_exec::{Comparison, Evaluation, SegmentFilter};

const ROWS: usize = 1_000;

const COMPARISONS: [Comparison; 6] = [
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::GreaterOrEqual,
    Comparison::Greater,
];

/// Numbers of both columns, `None` for null.
struct Pairs {
    left: Vec<Option<i128>>,
    right: Vec<Option<i128>>,
}

fn holds(comparison: Comparison, left: i128, right: i128) -> bool {
    match comparison {
        Comparison::Less => left < right,
        Comparison::LessOrEqual => left <= right,
        Comparison::Equal => left == right,
        Comparison::NotEqual => left != right,
        Comparison::GreaterOrEqual => left >= right,
        Comparison::Greater => left > right,
    }
}

fn value_of(number: Option<i128>, column_type: &ColumnType) -> Option<Value<'static>> {
    let number = number?;
    Some(match column_type {
        ColumnType::I64 => Value::I64(number as i64),
        ColumnType::U64 => Value::U64(number as u64),
        ColumnType::Date => Value::Date(number as i32),
        ColumnType::Timestamp => Value::Timestamp(number as i64),
        _ => Value::Decimal(number),
    })
}

fn frozen(column_type: &ColumnType, pairs: &Pairs) -> (Database, Table) {
    let db = Database::open(Options::new().budget(256 << 20)).expect("a database");
    let column = |name: &str, numbers: &[Option<i128>]| {
        let column = Column::new(name, column_type.clone());
        if numbers.contains(&None) { column.nullable() } else { column }
    };
    let schema =
        TableSchema::new("T").with(column("a", &pairs.left)).with(column("b", &pairs.right));
    let table = db.create_table(schema).expect("a table");
    let both = pairs.left.iter().zip(&pairs.right);
    let rows = both.map(|(a, b)| [value_of(*a, column_type), value_of(*b, column_type)]);
    db.write(|tx| tx.insert_all_values(&table, rows.clone())).expect("rows");
    db.freeze_all(&table).expect("to be frozen");
    (db, table)
}

/// Checks all comparisons, in stretches that begin anywhere; where they were evaluated.
fn check(column_type: &ColumnType, pairs: &Pairs) -> Evaluation {
    let (db, table) = frozen(column_type, pairs);
    let (a, b) = (table.column("a").expect("a"), table.column("b").expect("b"));
    let tx = db.begin_read().expect("a transaction");
    let mut pieces = tx.scan_pieces(&table).expect("pieces");
    let Some(Piece::Frozen(rows)) = pieces.next_piece() else { panic!("it is frozen") };
    let mut evaluation = Evaluation::NoRow;
    for comparison in COMPARISONS {
        let mut filter = SegmentFilter::default();
        evaluation = filter.add_comparison(&rows, a, comparison, b).expect("its columns");
        if evaluation == Evaluation::Decoded {
            continue;
        }
        let meets = |row: &usize| match (pairs.left[*row], pairs.right[*row]) {
            (Some(left), Some(right)) => holds(comparison, left, right),
            _ => false,
        };
        for (from, to) in [(0, ROWS), (1, 66), (130, 999), (63, 64), (7, 7)] {
            let found = filter.select(&rows, from..to).expect("rows of the table");
            let expected: Vec<_> = (from..to).filter(meets).collect();
            let context = format!("{column_type:?} {comparison:?} {from}..{to}");
            assert_eq!(found.rows().map(|row| row), expected, "{context}");
        }
    }
    evaluation
}

/// Numbers from `least` on, of which so many differ.
fn numbers(seed: u64, least: i128, count: u64) -> Vec<Option<i128>> {
    let mut state = seed;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 11
    };
    let mut all: Vec<_> = (0..ROWS).map(|_| Some(least + i128::from(next() % count))).collect();
    all[0] = Some(least);
    all[1] = Some(least + i128::from(count) - 1);
    all
}

#[test]
fn offsets_of_every_width_are_compared_with_each_other() {
    for (l, left) in [1, 50, 5_000, 9_000_000, 3_000_000_000].into_iter().enumerate() {
        for (r, right) in [1, 60, 7_000, 8_000_000, 4_000_000_000].into_iter().enumerate() {
            for shift in [-7, 0, 40, 70_000] {
                let pairs = Pairs {
                    left: numbers(l as u64, 1_000_000, left),
                    right: numbers(9 + r as u64, 1_000_000 + shift, right),
                };
                assert_eq!(check(&ColumnType::I64, &pairs), Evaluation::Encoded);
            }
        }
    }
}

#[test]
fn null_meets_nothing() {
    let mut pairs = Pairs { left: numbers(1, -20, 40), right: numbers(2, -15, 40) };
    pairs.left.iter_mut().skip(2).step_by(7).for_each(|number| *number = None);
    assert_eq!(check(&ColumnType::Date, &pairs), Evaluation::Encoded);
    pairs.right.iter_mut().skip(3).step_by(5).for_each(|number| *number = None);
    assert_eq!(check(&ColumnType::Date, &pairs), Evaluation::Encoded);
}

#[test]
fn numbers_as_in_rows_are_compared_as_far_as_8_bytes_go() {
    let far = |least: i128, seed| numbers(seed, least, 1 << 50);
    let pairs = Pairs { left: far(-(1 << 49), 1), right: far(-(1 << 48), 2) };
    assert_eq!(check(&ColumnType::Timestamp, &pairs), Evaluation::Encoded);
    let near = Pairs { left: far(0, 1), right: numbers(2, 1 << 49, 100) };
    assert_eq!(check(&ColumnType::I64, &near), Evaluation::Encoded);
    // Numbers above those that are signed.
    let least = i128::from(u64::MAX) - (1 << 51);
    let pairs = Pairs { left: far(least, 3), right: far(least + 9, 4) };
    assert_eq!(check(&ColumnType::U64, &pairs), Evaluation::Encoded);
    // From the least to the greatest there are more than are signed.
    let ends =
        |number: usize| Some(if number.is_multiple_of(2) { i64::MIN } else { i64::MAX }.into());
    let apart = Pairs { left: (0..ROWS).map(ends).collect(), right: far(0, 5) };
    assert_eq!(check(&ColumnType::I64, &apart), Evaluation::Decoded);
}

#[test]
fn decimals_beyond_8_bytes_are_compared_if_they_are_close() {
    let decimal = ColumnType::Decimal { precision: 38, scale: 2 };
    let least = 10_i128.pow(37);
    let pairs = Pairs { left: numbers(1, least, 500), right: numbers(2, least + 100, 90_000) };
    assert_eq!(check(&decimal, &pairs), Evaluation::Encoded);
    let pairs = Pairs { left: numbers(1, least, 500), right: numbers(2, -least, 500) };
    assert_eq!(check(&decimal, &pairs), Evaluation::Decoded);
}
