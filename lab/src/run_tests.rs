use std::path::PathBuf;

use lab_harness::sensors::{RecordShape, SensorStore};
use lab_harness::{Contender, Place, Setting};

use super::*;
use crate::command::Scale;
use crate::workloads;

struct NotInstalled;

#[test]
fn a_contender_that_is_not_installed_is_named_with_its_command() {
    let records = missing(workload(), &choice(&[&NotInstalled]), &stamp());
    let [record] = &records[..] else { panic!("{records:?}") };
    assert_eq!(record.contender, "absent");
    assert_eq!(record.skipped.as_deref(), Some("no absent.h; install: apt-get install absent-dev"));
    assert_eq!(record.cpu_ns(), None);
}

#[test]
fn a_contender_that_is_not_installed_is_not_planned() {
    assert!(workload().plan(&choice(&[&NotInstalled])).is_empty());
}

#[test]
fn groups_are_interleaved_over_all_contenders_of_a_size() {
    let choice = choice(&crate::contenders::all());
    for group in workload().plan(&choice) {
        assert_eq!(group.rounds, choice.rounds);
        let names: Vec<_> = group.cells.iter().map(|cell| cell.contender.name()).collect();
        assert!(names.contains(&"btreemap"), "{}: {names:?}", group.title);
    }
}

fn workload() -> &'static dyn Workload {
    workloads::find("sensors").unwrap()
}

fn choice(contenders: &[&'static dyn Contender]) -> Choice {
    Choice {
        scale: Scale::Quick,
        large: true,
        rows: None,
        minutes: None,
        rounds: 3,
        contenders: contenders.to_vec(),
        out: PathBuf::new(),
    }
}

fn stamp() -> Stamp {
    Stamp { machine: String::new(), commit: String::new(), run: String::new() }
}

impl Contender for NotInstalled {
    fn name(&self) -> &'static str {
        "absent"
    }

    fn version(&self) -> String {
        "not installed".to_owned()
    }

    fn missing(&self) -> Option<Missing> {
        let install = "apt-get install absent-dev";
        Some(Missing { reason: "no absent.h".to_owned(), install })
    }

    fn settings(&self) -> &'static [Setting] {
        &[]
    }

    fn open_sensors(
        &self,
        _: &Setting,
        _: &Place<'_>,
        _: RecordShape,
    ) -> Outcome<Box<dyn SensorStore>> {
        Err("absent".into())
    }
}
