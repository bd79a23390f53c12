//! Lines as the format allows them, and lines that are none.

use super::parse;

#[test]
fn what_the_format_allows() {
    let text = "# HELP a b\n# TYPE a counter\na 1\n\nb{} 2.5\nc{x=\"1\",y=\"\"} 3e3 1700000000\n\
                d{name=\"a \\\"b\\\\c\\nd, e=}f\",} -4\ne NaN\n";
    let metrics = parse(text).unwrap();
    assert_eq!((metrics.get("a"), metrics.get("b")), (Some(1.0), Some(2.5)));
    assert_eq!(metrics.with("c", "x", "1"), Some(3000.0));
    assert_eq!(metrics.with("c", "x", "2"), None);
    assert_eq!(metrics.all("d")[0].label("name"), "a \"b\\c\nd, e=}f");
    assert_eq!(metrics.all("d")[0].value, -4.0);
    assert!(metrics.get("e").is_some_and(f64::is_nan));
    assert_eq!(metrics.all("none"), []);
}

#[test]
fn lines_that_are_no_metrics() {
    for text in ["<html>", "a", "a b", "a{x=1} 1", "a{x=\"1} 1", "a 1 2 3", "{x=\"1\"} 1"] {
        assert_eq!(parse(&format!("ok 1\n{text}")).unwrap_err(), "line 2 is no metric", "{text}");
    }
}
