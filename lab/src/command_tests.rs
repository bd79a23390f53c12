use std::ffi::OsString;

use super::*;
use crate::flags;

#[test]
fn a_run_has_its_defaults() {
    let Run { workload, choice } = one("sensors");
    assert_eq!(workload.name(), "sensors");
    assert_eq!((choice.scale, choice.rounds), (Scale::Ordinary, 3));
    assert_eq!(choice.out, PathBuf::from("target/lab"));
    assert!(choice.contenders.len() >= 2);
}

#[test]
fn a_run_takes_as_long_as_is_asked() {
    let scale_of = |line| {
        let choice = one(line).choice;
        (choice.scale, choice.rounds)
    };
    assert_eq!(scale_of("sensors --quick"), (Scale::Quick, 2));
    assert_eq!(scale_of("sensors --full"), (Scale::Full, 5));
    assert_eq!(scale_of("sensors --all"), (Scale::All, 5));
    assert_eq!(scale_of("sensors --all --full --rounds 7"), (Scale::All, 7));
}

#[test]
fn workloads_are_run_in_the_order_in_which_they_are_named() {
    let Ok(Command::Run { runs }) = understood("sets burst --quick --rounds 1") else {
        panic!("no run")
    };
    let names: Vec<_> = runs.iter().map(|run| (run.workload.name(), run.choice.rounds)).collect();
    assert_eq!(names, [("sets", 1), ("burst", 1)]);
}

#[test]
fn contenders_are_chosen_by_name() {
    let line = "sensors --quick --contenders hashmap,btreemap";
    let choice = one(line).choice;
    let names: Vec<_> = choice.contenders.iter().map(|contender| contender.name).collect();
    assert_eq!(names, ["hashmap", "btreemap"]);
    assert_eq!(choice.scale, Scale::Quick);
}

#[test]
fn settings_are_chosen_by_promise_and_medium() {
    let choice = one("readers --promise os,disk --medium disk").choice;
    assert_eq!(choice.promises, [Promise::Os, Promise::Disk]);
    assert_eq!(choice.media, [Medium::Disk]);
    let cases = |line: &str| {
        let Run { workload, choice } = one(line);
        let groups = workload.plan(&choice);
        let settings = groups.iter().flat_map(|group| &group.cases).map(|case| case.setting);
        settings.map(|setting| (setting.promise, setting.medium)).collect::<Vec<_>>()
    };
    let logged = cases("readers --promise os,disk --medium disk --contenders remanent");
    let both = [(Promise::Os, Medium::Disk), (Promise::Disk, Medium::Disk)];
    assert!(logged.len() == 18 && both.iter().all(|one| logged.contains(one)), "{logged:?}");
    let media = cases("sensors --medium ramdisk --contenders remanent --rows 100");
    assert!(media.len() == 3 && media.iter().all(|one| one.1 == Medium::Ramdisk), "{media:?}");
    assert!(
        refused("sensors --promise sometimes")
            .unwrap()
            .contains("no promise 'sometimes'; there is:")
    );
    assert!(refused("sensors --medium tape").unwrap().contains("no medium 'tape'"));
    let other = refused("sets --medium disk").unwrap();
    assert!(other.contains("sets takes no --promise and no --medium"), "{other}");
}

#[test]
fn interfaces_stand_beside_rust_and_whoever_is_named() {
    if contenders::find("remanent-c").is_none() {
        return;
    }
    let names = |line| {
        let choice = one(line).choice;
        choice.contenders.iter().map(|contender| contender.name).collect::<Vec<_>>()
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
    assert!(refused("censors").unwrap().contains("sensors"));
    assert!(refused("sensors --contenders oracle").unwrap().contains("btreemap"));
    assert!(refused("sensors --quick --all").is_some());
    assert!(refused("sensors --quick --full").is_some());
    assert!(refused("sensors --rows 0").is_some());
    assert!(refused("sensors --interface cobol").unwrap().contains("rust, c, mco, d"));
    assert!(refused("readers --interface c").unwrap().contains("readers"));
    assert!(refused("sensors report").is_some());
}

/// Why a line is refused, if it is.
fn refused(line: &str) -> Option<String> {
    understood(line).err().map(|failure| failure.to_string())
}

/// The only run of a line.
fn one(line: &str) -> Run {
    let Ok(Command::Run { mut runs }) = understood(line) else { panic!("no run: {line}") };
    assert_eq!(runs.len(), 1);
    runs.remove(0)
}

fn understood(line: &str) -> Outcome<Command> {
    understand(flags::parse(line.split_whitespace().map(OsString::from))?)
}
