//! Every flag of the list has a meaning, and nothing else is accepted.

use super::*;

fn parsed(words: &[&str]) -> Outcome<Flags> {
    parse(words.iter().map(OsString::from))
}

#[test]
fn every_listed_flag_is_understood() -> Outcome<()> {
    for flag in FLAGS {
        let mut words = vec![format!("--{}", flag.name)];
        words.extend(flag.value.map(|_| "1".to_owned()));
        parse(words.into_iter().map(OsString::from))?;
        assert!(help().contains(&format!("--{}", flag.name)));
    }
    Ok(())
}

#[test]
fn lists_are_split_at_commas() -> Outcome<()> {
    let flags = parsed(&["--scale", "0.01,1", "--queries", "1,22", "--contenders", "a,b"])?;
    assert_eq!(flags.scales, Some(vec![0.01, 1.0]));
    assert_eq!(flags.queries, Some(vec![1, 22]));
    assert_eq!(flags.contenders, Some(vec!["a".to_owned(), "b".to_owned()]));
    Ok(())
}

#[test]
fn what_is_no_number_and_what_is_unknown_is_refused() {
    assert!(parsed(&["--scale", "one"]).is_err());
    assert!(parsed(&["--scale"]).is_err());
    assert!(parsed(&["--colour"]).is_err());
    assert!(parsed(&["-x"]).is_err());
}
