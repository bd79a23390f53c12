use std::ffi::OsString;

use super::*;
use crate::flags;

#[test]
fn a_run_has_its_defaults() {
    let Ok(Command::Run { workload, choice }) = understood("sensors") else { panic!("no run") };
    assert_eq!(workload.name(), "sensors");
    assert_eq!(choice.scale, Scale::Ordinary);
    assert_eq!(choice.rounds, 5);
    assert_eq!(choice.out, PathBuf::from("target/lab"));
    assert!(choice.contenders.len() >= 2);
}

#[test]
fn contenders_are_chosen_by_name() {
    let line = "sensors --quick --contenders hashmap,btreemap";
    let Ok(Command::Run { choice, .. }) = understood(line) else { panic!("no run") };
    let names: Vec<_> = choice.contenders.iter().map(|contender| contender.name()).collect();
    assert_eq!(names, ["hashmap", "btreemap"]);
    assert_eq!(choice.scale, Scale::Quick);
}

#[test]
fn interfaces_stand_beside_rust_and_whoever_is_named() {
    if contenders::find("remanent-c").is_none() {
        return;
    }
    let names = |line| {
        let Ok(Command::Run { choice, .. }) = understood(line) else { panic!("no run: {line}") };
        choice.contenders.iter().map(|contender| contender.name()).collect::<Vec<_>>()
    };
    assert_eq!(names("sensors --interface mco"), ["remanent", "remanent-mco"]);
    let all = ["remanent", "remanent-c", "remanent-mco", "remanent-d"];
    assert_eq!(names("sensors --interface rust,c,mco --interface d"), all);
    let beside = ["remanent", "remanent-d", "btreemap"];
    assert_eq!(names("sensors --interface d --contenders btreemap,remanent"), beside);
    assert!(!names("sensors").contains(&"remanent-c"));
    assert_eq!(names("sets"), ["remanent", "remanent-d"]);
}

#[test]
fn a_report_takes_its_directory_from_either_place() {
    for line in ["report somewhere", "report --out somewhere"] {
        let Ok(Command::Report { directory }) = understood(line) else { panic!("no report") };
        assert_eq!(directory, PathBuf::from("somewhere"));
    }
}

#[test]
fn what_does_not_exist_is_named_with_what_does() {
    let refused = |line| understood(line).err().map(|failure| failure.to_string());
    assert!(refused("censors").unwrap().contains("sensors"));
    assert!(refused("sensors --contenders oracle").unwrap().contains("btreemap"));
    assert!(refused("sensors --quick --all").is_some());
    assert!(refused("sensors --rows 0").is_some());
    assert!(refused("sensors --interface cobol").unwrap().contains("rust, c, mco, d"));
    assert!(refused("readers --interface c").unwrap().contains("readers"));
    assert!(refused("sensors report").is_some());
}

fn understood(line: &str) -> Outcome<Command> {
    understand(flags::parse(line.split_whitespace().map(OsString::from))?)
}
