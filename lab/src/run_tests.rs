use std::path::PathBuf;

use lab_harness::Contender;

use super::*;
use crate::choice::Scale;
use crate::workloads;

static NOT_INSTALLED: Contender = Contender {
    missing: Some(Missing { reason: "no absent.h", install: "apt-get install absent-dev" }),
    ..Contender::named("absent", || "not installed".to_owned())
};

#[test]
fn a_contender_that_is_not_installed_is_named_with_its_command() {
    let records = missing(workload(), &choice(&[&NOT_INSTALLED]), &stamp());
    let [record] = &records[..] else { panic!("{records:?}") };
    assert_eq!(record.contender, "absent");
    assert_eq!(record.skipped.as_deref(), Some("no absent.h; install: apt-get install absent-dev"));
    assert_eq!(record.cpu_ns(), None);
}

#[test]
fn a_contender_that_is_not_installed_is_not_planned() {
    assert!(workload().plan(&choice(&[&NOT_INSTALLED])).is_empty());
}

#[test]
fn groups_are_interleaved_over_all_contenders_of_a_size() {
    let choice = choice(&crate::contenders::all());
    for group in workload().plan(&choice) {
        assert_eq!(group.rounds, choice.rounds);
        let names: Vec<_> = group.cases.iter().map(|case| case.contender.name).collect();
        assert!(names.contains(&"btreemap"), "{}: {names:?}", group.title);
    }
}

fn workload() -> &'static dyn Workload {
    workloads::find("sensors").unwrap()
}

fn choice(contenders: &[&'static Contender]) -> Choice {
    Choice {
        scale: Scale::Quick,
        large: true,
        rows: None,
        promises: Vec::new(),
        media: Vec::new(),
        minutes: None,
        rounds: 3,
        contenders: contenders.to_vec(),
        out: PathBuf::new(),
    }
}

fn stamp() -> Stamp {
    Stamp { machine: String::new(), commit: String::new(), run: String::new() }
}
