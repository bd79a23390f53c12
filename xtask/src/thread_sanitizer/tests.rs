//! The command that is run, without running it.

use super::{command, host};

fn words(arguments: &[&str]) -> String {
    let arguments: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
    let command = command("x86_64-unknown-linux-gnu", &arguments);
    let words = command.get_args().map(|word| word.to_string_lossy().into_owned());
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn arguments_replace_the_package() {
    assert!(words(&[]).ends_with("target/tsan --package remanent-engine --lib"));
    assert!(words(&["--package", "remanent"]).ends_with("target/tsan --package remanent"));
}

#[test]
fn the_host_is_a_target() {
    assert!(host().expect("a compiler").split('-').count() >= 3);
}
