use std::collections::BTreeMap;

use lab_harness::{Medium, Promise};
use serde_json::Value;

use super::*;
use crate::contenders;
use crate::parameters::{BLOCK_BYTES, PREFAULTED};

#[test]
fn both_halves_are_repeated_until_they_have_lasted() {
    for &contender in &contenders::with_blocks() {
        let Some(setting) = contender.block_settings().first() else { continue };
        let request = CaseRequest {
            workload: "memory".to_owned(),
            contender: contender.name.to_owned(),
            variant: String::new(),
            promise: Promise::None,
            medium: Medium::Memory,
            rows: 50,
            readers: 0,
            per_transaction: 1,
            parameters: BTreeMap::from([
                (BLOCK_BYTES.to_owned(), Value::from(4096)),
                (PREFAULTED.to_owned(), Value::from(true)),
            ]),
            seconds_max: None,
            directory: None,
            core: None,
        };
        let lines = measure(&request, contender.blocks.unwrap().open, setting).unwrap();
        let phases: Vec<_> = lines
            .into_iter()
            .map(|line| match line {
                Line::Phase(sample) => sample,
                line => panic!("{line:?}"),
            })
            .collect();
        let [allocate, free] = &phases[..] else { panic!("{phases:?}") };
        assert_eq!((&*allocate.phase, &*free.phase), ("allocate_warm", "free_warm"));
        assert!(allocate.verified && free.verified, "{}", contender.name);
        assert!(allocate.wall_ns + free.wall_ns >= NS_MIN);
        assert_eq!(allocate.operations, free.operations);
        assert!(allocate.operations >= 50 * PASSES_MIN);
    }
}
