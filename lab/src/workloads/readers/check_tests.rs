use lab_harness::readers::Row;

use super::*;

const CYCLE: u64 = 3;

/// A reader that looks up ids 0 to 95, then the first four again.
fn sight(generation: impl Fn(i32) -> Option<u32>) -> Sight {
    let mut sight = asked();
    for id in sight.ids {
        let row = generation(id).map(|generation| row(id, generation));
        sight.see(row.as_ref().map(Row::view));
    }
    sight
}

fn asked() -> Sight {
    let mut sight = Sight::new();
    for (place, id) in sight.ids.iter_mut().enumerate() {
        *id = (place % (LOOK_UPS - REPEATS)) as i32;
    }
    sight
}

fn fault_in(sight: &Sight, stage: Stage, block: i32) -> Option<String> {
    let moment = Moment { cycle: CYCLE, stage };
    sight.fault(moment, moment, block)
}

#[test]
fn states_between_two_transactions_are_right() {
    let now = Some(generation_at(CYCLE));
    for kept in [0, 10, 50, 90, 200] {
        let inserting = sight(|id| now.filter(|_| id < kept));
        assert_eq!(fault_in(&inserting, Stage::Insert, 10), None, "the first {kept}");
        let deleting = sight(|id| now.filter(|_| id >= kept));
        assert_eq!(fault_in(&deleting, Stage::Delete, 10), None, "but the first {kept}");
    }
    let updated = sight(|id| Some(generation_at(CYCLE) + id as u32 * 7));
    assert_eq!(fault_in(&updated, Stage::Update, 10), None);
}

#[test]
fn half_of_a_transaction_is_seen() {
    let now = Some(generation_at(CYCLE));
    let half = sight(|id| now.filter(|_| id < 55));
    assert_eq!(fault_in(&half, Stage::Insert, 1), None, "with one operation it is a whole");
    assert!(fault_in(&half, Stage::Insert, 10).unwrap().contains("half of a transaction"));
    let hole = sight(|id| now.filter(|_| id != 50));
    assert!(fault_in(&hole, Stage::Insert, 1).unwrap().contains("half of a transaction"));
}

#[test]
fn a_row_that_changes_within_a_transaction_is_seen() {
    let mut sight = asked();
    for (place, id) in sight.ids.into_iter().enumerate() {
        let later = u32::from(place >= LOOK_UPS - REPEATS);
        sight.see(Some(row(id, generation_at(CYCLE) + later).view()));
    }
    assert!(fault_in(&sight, Stage::Update, 1).unwrap().contains("change within"));
}

#[test]
fn a_broken_row_and_a_wrong_number_of_answers_are_seen() {
    let mut torn = asked();
    for id in torn.ids {
        let mut row = row(id, generation_at(CYCLE));
        row.payload[100] ^= u8::from(id == 40);
        torn.see(Some(row.view()));
    }
    assert!(fault_in(&torn, Stage::Update, 1).unwrap().contains("id 40"));

    let mut few = asked();
    few.see(None);
    assert!(fault_in(&few, Stage::Insert, 1).unwrap().contains("1 of 100"));
    let mut many = sight(|_| None);
    many.see(None);
    assert!(fault_in(&many, Stage::Insert, 1).is_some());
}

#[test]
fn a_transaction_within_a_phase_knows_more() {
    let empty = sight(|_| None);
    assert_eq!(fault_in(&empty, Stage::Insert, 1), None);
    assert!(fault_in(&empty, Stage::Update, 1).unwrap().contains("missed"));
    assert!(fault_in(&empty, Stage::Read, 1).unwrap().contains("missed"));

    let stale = sight(|_| Some(generation_at(CYCLE - 1) + 5));
    assert!(fault_in(&stale, Stage::Update, 1).unwrap().contains("another cycle"));
    let [before, after] = [CYCLE - 1, CYCLE].map(|cycle| Moment { cycle, stage: Stage::Update });
    assert_eq!(stale.fault(before, after, 1), None, "it began when that was right");
}

/// A table as rows in a vector, some of them wrong.
struct Table(Vec<Row>);

impl RowReader for Table {
    fn read(&mut self, _: &[i32], _: &mut lab_harness::readers::See<'_>) -> Outcome<Ended> {
        Ok(Ended::Committed)
    }

    fn scan(&mut self, see: &mut lab_harness::readers::See<'_>) -> Outcome<Ended> {
        self.0.iter().for_each(|row| see(Some(row.view())));
        Ok(Ended::Committed)
    }
}

#[test]
fn a_table_is_compared_byte_by_byte_with_the_model() {
    let mut model = Model::new(3);
    model.generations = vec![7, 8, 0];
    let right = vec![row(1, 8), row(0, 7)];
    let mut difference = |rows: &[Row]| model.difference(&mut Table(rows.to_vec())).unwrap();
    assert_eq!(difference(&right), None);
    assert!(difference(&right[..1]).unwrap().contains("1 rows in place of 2"));
    assert!(difference(&[right[0], right[0]]).unwrap().contains("twice"));
    assert!(difference(&[right[0], row(0, 6)]).unwrap().contains("row 0 differs"));
    assert!(difference(&[right[0], right[1], row(2, 1)]).unwrap().contains("row 2 differs"));
    assert!(difference(&[right[0], right[1], row(9, 1)]).unwrap().contains("never inserted"));
    let mut byte = right;
    byte[0].payload[199] ^= 1;
    assert!(difference(&byte).unwrap().contains("row 1 differs"));
}

#[test]
fn generations_of_cycles_do_not_meet() {
    let most = generation_at(1) + crate::workloads::readers::measure::ROWS_MAX as u32;
    assert!(most < generation_at(2));
    assert!(generation_at(0) > 0, "0 is no row");
}
