//! Conditions with IS DISTINCT FROM, as they are meant.

use crate::statement::Statement;

#[test]
fn and_or_and_not_get_their_operands_back() {
    let cases = [
        ("a IS DISTINCT FROM b AND c", "(a IS DISTINCT FROM b) AND c"),
        ("a IS NOT DISTINCT FROM b OR c AND d", "(a IS NOT DISTINCT FROM b) OR c AND d"),
        ("a IS DISTINCT FROM b AND c OR d", "(a IS DISTINCT FROM b) AND c OR d"),
        ("x AND a IS DISTINCT FROM b OR c", "x AND (a IS DISTINCT FROM b) OR c"),
        ("NOT a IS DISTINCT FROM b AND c", "(NOT (a IS DISTINCT FROM b)) AND c"),
        (
            "a IS DISTINCT FROM b AND c IS DISTINCT FROM d AND e",
            "(a IS DISTINCT FROM b) AND (c IS DISTINCT FROM d) AND e",
        ),
        ("a IS DISTINCT FROM (b AND c)", "a IS DISTINCT FROM (b AND c)"),
        ("a IS DISTINCT FROM b + 1", "a IS DISTINCT FROM b + 1"),
    ];
    for (text, meant) in cases {
        let [text, meant] = [text, meant].map(|text| format!("SELECT {text}"));
        let statement = |text: &str| Statement::parse(text).expect("it is a statement").ast;
        assert_eq!(statement(&text).to_string(), meant);
        // Read again, it stays what it is, and has the structure that parentheses would give.
        assert_eq!(statement(&meant).to_string(), meant);
    }
}

#[test]
fn or_is_outermost() {
    let text = "SELECT x AND a IS DISTINCT FROM b OR c OR d";
    let meant = "SELECT ((x AND (a IS DISTINCT FROM b)) OR c) OR d";
    let found = format!("{:?}", Statement::parse(text).expect("it is a statement").ast);
    let meant = Statement::parse(meant).expect("it is a statement").ast;
    let shape = |text: &str| text.matches("op: Or, right: Identifier").count();
    assert_eq!(shape(&found), shape(&format!("{meant:?}")));
    assert_eq!(shape(&found), 2);
}
