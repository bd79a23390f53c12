use super::*;

#[test]
fn every_flag_is_read() {
    let flags =
        parsed("sensors --quick --rows 1_000 --rounds=7 --minutes 10 --contenders a,b --out d")
            .unwrap();
    assert_eq!(flags.words, ["sensors"]);
    assert!(flags.quick && !flags.full && !flags.all && !flags.large);
    assert_eq!(flags.rows, Some(1000));
    assert_eq!((flags.rounds, flags.minutes), (Some(7), Some(10)));
    assert_eq!(flags.contenders, Some(vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!(flags.out, Some(PathBuf::from("d")));
}

#[test]
fn interfaces_are_named_in_lists_and_again() {
    let flags = parsed("sensors --interface c,mco --interface d").unwrap();
    assert_eq!(flags.interfaces, ["c", "mco", "d"]);
    assert!(parsed("sensors").unwrap().interfaces.is_empty());
}

#[test]
fn the_list_and_the_parser_agree() {
    for flag in FLAGS {
        let value = flag.value.map_or(String::new(), |_| " 1".to_owned());
        parsed(&format!("--{}{value}", flag.name)).unwrap();
        assert!(help().contains(flag.name));
    }
}

#[test]
fn what_is_not_a_flag_is_refused() {
    for wrong in ["--rows", "--rows many", "--quickly", "-q", "--rounds -1"] {
        assert!(parsed(wrong).is_err(), "{wrong}");
    }
}

fn parsed(line: &str) -> Outcome<Flags> {
    parse(line.split_whitespace().map(OsString::from))
}
