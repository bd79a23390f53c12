//! Every flag of the list has a meaning, and nothing else is accepted.

use super::*;

fn understood(words: &[&str]) -> Outcome<Option<Choice>> {
    understand(words.iter().map(OsString::from))
}

#[test]
fn every_listed_flag_is_understood() -> Outcome<()> {
    let usual = understood(&[])?.expect("a choice");
    for flag in FLAGS {
        let mut words = vec![format!("--{}", flag.name)];
        words.extend(flag.value.map(|_| "500".to_owned()));
        let chosen = understand(words.into_iter().map(OsString::from))?;
        assert_ne!(chosen.as_ref(), Some(&usual), "--{} changes something", flag.name);
        assert!(help().contains(&format!("--{}", flag.name)));
    }
    Ok(())
}

#[test]
fn what_contradicts_or_is_unknown_is_refused() {
    let refused: [&[&str]; 7] = [
        &["--quick", "--full"],
        &["--rounds", "0"],
        &["--rounds", "many"],
        &["--rows", "399"],
        &["--rows"],
        &["--colour"],
        &["word"],
    ];
    for words in refused {
        assert!(understood(words).is_err(), "{words:?}");
    }
}
