//! The table of TPC-H from records.

use serde_json::json;

use super::*;
use crate::record::Spread;

fn record(contender: &str, query: u64, ms: f64) -> Record {
    let spread = Spread { min: ms * 1e6, median: ms * 1e6, max: ms * 1e6 };
    let mut record = Record {
        workload: NAME.to_owned(),
        contender: contender.to_owned(),
        phase: "query".to_owned(),
        cpu_ns_per_op: Some(spread),
        verified: Some(true),
        ..Record::default()
    };
    record.extra.insert("scale".to_owned(), json!(1.0));
    record.extra.insert("query".to_owned(), json!(query));
    record
}

#[test]
fn a_line_for_each_query_and_a_column_for_each_contender() {
    let mut wrong = record("b", 2, 1.0);
    wrong.verified = Some(false);
    let records = [record("a", 1, 2.0), record("b", 1, 3.0), record("a", 2, 8.0), wrong];
    let text_tables = text_tables(&records);
    assert_eq!(text_tables.len(), 1);
    assert_eq!(text_tables[0].columns, ["a", "b"]);
    let line = |name: &str, cases: [&str; 2]| (name.to_owned(), cases.map(str::to_owned).to_vec());
    let expected = [
        line("1", ["2.0", "3.0"]),
        line("2", ["8.0", "unverified"]),
        line("total", ["10.0", "-"]),
        line("geometric mean", ["4.0", "-"]),
    ];
    assert_eq!(text_tables[0].lines, expected);
}
