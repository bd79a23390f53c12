//! What the run is told.
//!
//! Each argument sets its own number, and what is none of them is refused.

use super::variables;

fn told(line: &str) -> Result<Vec<String>, String> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    Ok(variables(&words)?.into_iter().map(|(_, number)| number).collect())
}

#[test]
fn each_argument_sets_its_own_number() {
    assert_eq!(told("").unwrap(), ["50000", "1", "9"]);
    assert_eq!(told("--seed 7").unwrap(), ["50000", "7", "9"]);
    assert_eq!(told("--findings 2 --statements 10").unwrap(), ["10", "1", "2"]);
}

#[test]
fn what_is_no_argument_is_refused() {
    assert!(told("--seeds 7").unwrap_err().contains("--seeds"));
    assert!(told("--seed").unwrap_err().contains("number"));
    assert!(told("--seed x").unwrap_err().contains("number"));
}
