//! The list is read as it stands, and a key is put in everywhere.

use super::*;

#[test]
fn every_line_of_the_list_is_a_statement() -> Outcome<()> {
    let all = all()?;
    let of = |phase: &str| all.iter().filter(|it| it.phase == phase).count();
    assert_eq!((of("read"), of("change")), (40, 15));
    for statement in &all {
        let [read, change] = statement.of_key(120);
        assert!(!read.contains('$') && !change.contains('$'), "{statement:?}");
        assert!(read.contains("12") && change.contains("12"), "{statement:?}");
    }
    Ok(())
}

#[test]
fn what_says_no_effect_is_refused() -> Outcome<()> {
    assert_eq!(effect_of("= -1")?, Effect::FirstOfKey(-1));
    assert_eq!(effect_of("+ 10")?, Effect::Each(10));
    assert!(effect_of("").is_err() && effect_of("- 1").is_err() && effect_of("+ x").is_err());
    Ok(())
}
