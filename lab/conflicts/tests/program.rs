//! The program as it is called: what it says of itself, and how it ends where it cannot begin.

use std::process::{Command, Output};

fn run(words: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_lab-conflicts");
    Command::new(program).args(words).output().expect("it starts")
}

#[test]
fn it_says_how_it_is_called() {
    let answer = run(&["--help"]);
    assert!(answer.status.success());
    assert!(String::from_utf8_lossy(&answer.stdout).contains("usage: lab conflicts"));
}

#[test]
fn what_is_not_there_is_named() {
    for server in ["/nothing/remanent", "/bin/false"] {
        let answer = run(&["--server", server]);
        assert_eq!(answer.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&answer.stderr).contains(server), "{answer:?}");
    }
}
