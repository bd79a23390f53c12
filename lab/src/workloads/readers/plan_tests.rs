use std::path::PathBuf;

use super::*;

/// Three phases of every cell of the plan make the 54 that the document's test has.
#[test]
fn a_contender_has_54_cells() {
    let groups = plan(&choice(Scale::Full, &["btreemap"]));
    let cells: Vec<_> = groups
        .iter()
        .flat_map(|group| &group.cells)
        .map(|cell| (cell.per_transaction, cell.readers))
        .collect();
    assert_eq!(cells.len() * 3, 54);
    for per_transaction in [1, 10, 100] {
        for readers in [0, 2, 4, 6, 8, 10] {
            let of_cell = |&&cell: &&(u64, u64)| cell == (per_transaction, readers);
            assert_eq!(cells.iter().filter(of_cell).count(), 1, "{per_transaction}, {readers}");
        }
    }
}

#[test]
fn a_cell_has_the_documents_rows_a_time_limit_and_all_cores() {
    for group in plan(&choice(Scale::Full, &["btreemap", "hashmap"])) {
        assert_eq!(group.rounds, 5);
        for cell in &group.cells {
            assert_eq!(cell.rows, 10_000);
            assert!(!cell.pinned, "the workload is about threads");
            assert!(cell.seconds_max.is_some());
        }
        let neighbours: Vec<_> = group.cells[..2].iter().map(|c| c.contender.name).collect();
        assert_eq!(neighbours, ["btreemap", "hashmap"], "interleaved beside as many readers");
    }
}

#[test]
fn rows_are_whole_transactions_of_every_size() {
    let few = Choice { rows: Some(130), ..choice(Scale::Full, &["btreemap"]) };
    assert!(plan(&few).iter().flat_map(|group| &group.cells).all(|cell| cell.rows == 200));
}

#[test]
fn an_ordinary_run_has_both_ends_of_the_document() {
    let readers: Vec<u64> = plan(&choice(Scale::Ordinary, &["btreemap"]))
        .iter()
        .flat_map(|group| &group.cells)
        .map(|cell| cell.readers)
        .collect();
    assert_eq!(readers, [0, 2, 10].repeat(PER_TRANSACTION.len()));
}

#[test]
fn a_quick_run_is_a_part_of_the_whole_one() {
    let named = plan(&choice(Scale::Quick, &["hashmap"]));
    assert_eq!(named.iter().map(|group| group.cells.len()).sum::<usize>(), 9);
    let everybody = Choice { contenders: contenders::all(), ..choice(Scale::Quick, &[]) };
    for cell in plan(&everybody).iter().flat_map(|group| &group.cells) {
        assert!(QUICK.contains(&cell.contender.name), "{}", cell.contender.name);
    }
}

fn choice(scale: Scale, names: &[&str]) -> Choice {
    Choice {
        scale,
        large: false,
        rows: None,
        rounds: 5,
        minutes: None,
        contenders: names.iter().filter_map(|name| contenders::find(name)).collect(),
        out: PathBuf::new(),
    }
}
