//! The tables of conflicts from records.

use serde_json::json;

use super::*;
use crate::record::Spread;

fn record(contender: &str, statement: &str, share: f64, verified: bool) -> Record {
    let spread = Spread { min: 1e6, median: 1e6, max: 1e6 };
    let mut record = Record {
        workload: NAME.to_owned(),
        contender: contender.to_owned(),
        phase: "read".to_owned(),
        wall_ns_per_op: Some(spread),
        verified: Some(verified),
        ..Record::default()
    };
    record.extra.insert("statement".to_owned(), json!(statement));
    record.extra.insert("refused_share".to_owned(), json!(share));
    record
}

#[test]
fn a_line_for_each_statement_and_two_columns_for_each_contender() {
    let records = [
        record("a", "one", 0.0, true),
        record("b", "one", 0.125, true),
        record("a", "two", 0.0, false),
    ];
    let text_tables = text_tables(&records);
    assert_eq!(text_tables.len(), 2);
    assert_eq!(text_tables[0].columns, ["a", "commits/s", "b", "commits/s"]);
    let line = |name: &str, cases: [&str; 4]| (name.to_owned(), cases.map(str::to_owned).to_vec());
    let expected = [
        line("one", ["0.0 %", "1000", "12.5 %", "1000"]),
        line("two", ["unverified", "unverified", "-", "-"]),
    ];
    assert_eq!(text_tables[0].lines, expected);
    assert!(text_tables[1].lines.is_empty());
}
