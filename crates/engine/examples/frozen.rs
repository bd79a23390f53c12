//! What freezing takes and gives, on a table as wide and as various as `lineitem` of TPC-H:
//! `cargo run --release -p remanent-engine --example frozen -- ROWS`.
//!
//! Loads rows, freezes them, and reads them in both forms: by key, row by row, and as columns; then
//! changes ever more of them, up to half, and freezes them again. One thread, the best of three.
//! The content is drawn from a seed, and is not that of the benchmark.

#![expect(clippy::print_stdout, reason = "it is a program that prints figures")]

use std::hint::black_box;
use std::time::Instant;

use remanent_engine::schema::{ColumnType, TableSchema, Value};
use remanent_engine::{
    Database, Encoding, FrozenColumn, Options, Piece, ReadTransaction, Result, Table,
};

const ROWS: u64 = 1_000_000;
/// Rows that are loaded with one transaction.
const BATCH: u64 = 1 << 16;
/// Rows that are read by key.
const LOOKUPS: u64 = 200_000;

const WORDS: [&str; 8] = [
    "furiously ",
    "carefully ",
    "packages ",
    "deposits ",
    "final ",
    "ironic ",
    "regular ",
    "bold ",
];
const MODES: [&str; 7] = ["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"];
const INSTRUCTIONS: [&str; 4] = ["COLLECT COD", "DELIVER IN PERSON", "NONE", "TAKE BACK RETURN"];

/// Numbers that look drawn, the same on every machine.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }

    fn pick(&mut self, of: &[&'static str]) -> &'static str {
        of[self.below(of.len() as u64) as usize]
    }
}

fn schema() -> TableSchema {
    let decimal = || ColumnType::Decimal { precision: 15, scale: 2 };
    TableSchema::new("lineitem")
        .column("orderkey", ColumnType::I64)
        .column("linenumber", ColumnType::I32)
        .column("partkey", ColumnType::I64)
        .column("suppkey", ColumnType::I64)
        .column("quantity", decimal())
        .column("extendedprice", decimal())
        .column("discount", decimal())
        .column("tax", decimal())
        .column("returnflag", ColumnType::STRING)
        .column("linestatus", ColumnType::STRING)
        .column("shipdate", ColumnType::Date)
        .column("commitdate", ColumnType::Date)
        .column("receiptdate", ColumnType::Date)
        .column("shipinstruct", ColumnType::STRING)
        .column("shipmode", ColumnType::STRING)
        .column("comment", ColumnType::STRING)
        .primary_key(["orderkey", "linenumber"])
}

fn comment(draw: &mut Draw) -> String {
    let length = 10 + draw.below(34) as usize;
    let mut text = String::new();
    while text.len() < length {
        text.push_str(draw.pick(&WORDS));
    }
    text.truncate(length);
    text
}

fn load(db: &Database, table: &Table, rows: u64) -> Result<()> {
    let mut draw = Draw(7);
    for first in (0..rows).step_by(BATCH as usize) {
        let texts: Vec<String> = (0..BATCH.min(rows - first)).map(|_| comment(&mut draw)).collect();
        let all = (first..).zip(&texts).map(|(row, text)| {
            let (quantity, day) = (1 + draw.below(50) as i128, 8035 + draw.below(2526) as i32);
            [
                Some(Value::I64((row / 4 * 4) as i64)),
                Some(Value::I32((row % 4) as i32)),
                Some(Value::I64(1 + draw.below(200_000) as i64)),
                Some(Value::I64(1 + draw.below(10_000) as i64)),
                Some(Value::Decimal(quantity * 100)),
                Some(Value::Decimal(quantity * (90_000 + draw.below(120_000) as i128))),
                Some(Value::Decimal(draw.below(11) as i128)),
                Some(Value::Decimal(draw.below(9) as i128)),
                Some(Value::String(draw.pick(&["A", "N", "R"]))),
                Some(Value::String(draw.pick(&["F", "O"]))),
                Some(Value::Date(day)),
                Some(Value::Date(day - 30 + draw.below(60) as i32)),
                Some(Value::Date(day + 1 + draw.below(30) as i32)),
                Some(Value::String(draw.pick(&INSTRUCTIONS))),
                Some(Value::String(draw.pick(&MODES))),
                Some(Value::String(text)),
            ]
        });
        let all: Vec<_> = all.collect();
        db.write(|tx| tx.insert_all_values(table, &all).map(|_| ()))?;
    }
    Ok(())
}

/// The shortest of three times, in seconds.
fn best(mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut best = f64::MAX;
    for _ in 0..3 {
        let start = Instant::now();
        work()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(best)
}

fn look_up(db: &Database, table: &Table, rows: u64) -> Result<f64> {
    let primary = table.index("primary")?;
    let price = table.column("extendedprice")?;
    best(|| {
        let mut draw = Draw(11);
        for _ in 0..LOOKUPS {
            let row = draw.below(rows);
            let key = [Value::I64((row / 4 * 4) as i64), Value::I32((row % 4) as i32)];
            let tx = db.begin_read()?;
            black_box(tx.find(table, primary, &key)?.map(|row| row.value(price).is_null()));
        }
        Ok(())
    })
}

fn visit(tx: &ReadTransaction<'_>, table: &Table) -> Result<f64> {
    let price = table.column("extendedprice")?;
    best(|| {
        let mut sum = 0;
        tx.each_row(table, |row| {
            if let Value::Decimal(number) = row.value(price) {
                sum += number;
            }
            Ok(())
        })?;
        black_box(sum);
        Ok(())
    })
}

/// Adds all numbers of fixed width up: seconds, and how many bytes they take.
fn add_up(tx: &ReadTransaction<'_>, table: &Table) -> Result<(f64, u64)> {
    let mut bytes_in_all = 0;
    let time = best(|| {
        bytes_in_all = 0;
        let mut pieces = tx.scan_pieces(table)?;
        let mut sum = 0;
        while let Some(piece) = pieces.next_piece() {
            let Piece::Frozen(rows) = piece else { continue };
            for column in rows.columns()? {
                let (bytes, width) = match column.encoding() {
                    Encoding::Offsets { bytes, width, .. } => (bytes, width),
                    Encoding::Dictionary { codes, code_width, .. } => (codes, code_width),
                    _ => continue,
                };
                bytes_in_all += bytes.len() as u64;
                sum += add(bytes, width);
            }
        }
        black_box(sum);
        Ok(())
    })?;
    Ok((time, bytes_in_all))
}

fn add(bytes: &[u8], width: usize) -> u64 {
    match width {
        1 => bytes.chunks(128).map(|part| u64::from(part.iter().fold(0_u16, add_byte))).sum(),
        2 => {
            let (numbers, _) = bytes.as_chunks::<2>();
            numbers.iter().fold(0_u32, |sum, it| sum.wrapping_add(u16::from_le_bytes(*it).into()))
        }
        .into(),
        3 => {
            let (low, high) = FrozenColumn::offset_parts(bytes);
            add(low.as_flattened(), 2) + (add(high, 1) << 16)
        }
        _ => {
            let (numbers, _) = bytes.as_chunks::<4>();
            numbers.iter().fold(0_u32, |sum, it| sum.wrapping_add(u32::from_le_bytes(*it)))
        }
        .into(),
    }
}

fn add_byte(sum: u16, byte: &u8) -> u16 {
    sum.wrapping_add(u16::from(*byte))
}

/// Adds the prices up of rows and of columns, wherever they are; in seconds.
fn scan(db: &Database, table: &Table) -> Result<f64> {
    let price = table.column("extendedprice")?;
    let number = |value: Value<'_>| match value {
        Value::Decimal(number) => number,
        _ => 0,
    };
    best(|| {
        let tx = db.begin_read()?;
        let (mut pieces, mut sum) = (tx.scan_pieces(table)?, 0);
        while let Some(piece) = pieces.next_piece() {
            match piece {
                Piece::Rows(rows) => {
                    sum += rows.iter().map(|row| number(row.value(price))).sum::<i128>()
                }
                Piece::Frozen(rows) => {
                    let (column, mut room) = (rows.column(price)?, Vec::new());
                    let sees = |i: &usize| {
                        rows.visible().is_none_or(|bits| bits[i / 64] >> (i % 64) & 1 == 1)
                    };
                    let all = (0..rows.len()).filter(sees);
                    sum += all.map(|i| number(column.value(i, &mut room))).sum::<i128>();
                }
            }
        }
        black_box(sum);
        Ok(())
    })
}

/// Changes ever more rows, up to half of them, and freezes them again.
fn wear(db: &Database, table: &Table, rows: u64) -> Result<()> {
    let (primary, price) = (table.index("primary")?, table.column("extendedprice")?);
    let per = |number: f64| number / rows as f64;
    let print = |what: &str| -> Result<()> {
        let time = per(scan(db, table)? * 1e9);
        let memory = db.memory();
        let bytes = per((memory.rows + memory.segments + memory.columns) as f64);
        println!("{what}: scan {time:.2} ns a row, {bytes:.1} bytes a row");
        Ok(())
    };
    print("none changed")?;
    let mut changed = 0;
    for share in [1, 2, 5, 10, 25, 50] {
        for first in (0..rows).step_by(100) {
            db.write(|tx| {
                for row in (first + changed..first + share).filter(|row| *row < rows) {
                    let key = [Value::I64((row / 4 * 4) as i64), Value::I32((row % 4) as i32)];
                    let Some(found) = tx.find(table, primary, &key)? else { continue };
                    let value = Value::Decimal(90_000 + i128::from(row % 120_000));
                    tx.update_values(table, found.id(), &[(price, value)])?;
                }
                Ok(())
            })?;
        }
        changed = share;
        db.reclaim();
        print(&format!("{share} in a hundred changed"))?;
    }
    let start = Instant::now();
    let report = db.freeze_all(table)?;
    println!("{report:?}");
    println!("frozen again: {:.0} ns a row", per(start.elapsed().as_secs_f64() * 1e9));
    print("frozen again")
}

fn main() -> Result<()> {
    let rows = std::env::args().nth(1).and_then(|rows| rows.parse().ok()).unwrap_or(ROWS);
    let db = Database::open(Options::new().budget(16 << 30).commit_ahead(rows * 300))?;
    let table = db.create_table(schema())?;
    let start = Instant::now();
    load(&db, &table, rows)?;
    let per_row = |seconds: f64| seconds * 1e9 / rows as f64;
    println!("{rows} rows; load {:.0} ns a row", per_row(start.elapsed().as_secs_f64()));
    let hot = db.memory();
    let per = |bytes: u64| bytes as f64 / rows as f64;
    let look_up_hot = look_up(&db, &table, rows)? * 1e9 / LOOKUPS as f64;
    let visit_hot = visit(&db.begin_read()?, &table)?;
    let start = Instant::now();
    let report = db.freeze_all(&table)?;
    let froze = start.elapsed().as_secs_f64();
    let frozen = db.memory();
    println!("{report:?}");
    println!("freeze {:.0} ns a row", per_row(froze));
    println!("bytes a row, hot: {:.1} and {:.1} of slots", per(hot.rows), per(hot.segments));
    println!("bytes a row, frozen: {:.1}; index {:.1}", per(frozen.columns), per(frozen.indexes));
    let look_up_frozen = look_up(&db, &table, rows)? * 1e9 / LOOKUPS as f64;
    println!("by key: hot {look_up_hot:.0} ns, frozen {look_up_frozen:.0} ns");
    let tx = db.begin_read()?;
    let visit_frozen = per_row(visit(&tx, &table)?);
    println!("each_row: hot {:.0} ns, frozen {visit_frozen:.0} ns a row", per_row(visit_hot));
    let (time, bytes) = add_up(&tx, &table)?;
    println!("columns added up: {:.1} GB/s of {bytes} encoded bytes", bytes as f64 / time / 1e9);
    drop(tx);
    wear(&db, &table, rows)
}
