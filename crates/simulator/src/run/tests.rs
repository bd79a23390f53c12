//! Histories on the engine itself: the same from the same seed, right, and wrong when falsified.

use super::{Checked, Mode, Run};
use crate::history::{Answer, Seen};
use crate::plan::Isolation;

#[test]
fn a_seed_gives_the_same_history() {
    let history = |seed| {
        let run = Run::default();
        let checked = run.check(Mode::Interleaved, seed, usize::MAX).expect("it runs");
        format!("{:?}", checked.history)
    };
    for seed in 0..20 {
        assert_eq!(history(seed), history(seed), "seed {seed}");
    }
    assert_ne!(history(1), history(2));
}

#[test]
fn a_cut_history_is_the_beginning_of_the_whole() {
    let run = Run::default();
    let whole = run.check(Mode::Interleaved, 3, usize::MAX).expect("it runs").history;
    let cut = run.check(Mode::Interleaved, 3, 20).expect("it runs").history;
    assert_eq!(format!("{:?}", whole.transactions[0]), format!("{:?}", cut.transactions[0]));
    assert!(cut.transactions.len() < whole.transactions.len());
}

#[test]
fn histories_are_right_at_every_level() {
    for isolation in [Isolation::Serializable, Isolation::Snapshot, Isolation::Mixed] {
        for mode in [Mode::Interleaved, Mode::Threads] {
            let run =
                Run { count: 100, isolation: Some(isolation), mode: Some(mode), ..Run::default() };
            assert!(run.run(), "{isolation:?}, {mode:?}");
        }
    }
}

/// A history is falsified in one answer, in each of its reads in turn; each time that is found.
#[test]
fn a_falsified_answer_is_found() {
    let run = Run { isolation: Some(Isolation::Snapshot), ..Run::default() };
    let history = run.check(Mode::Interleaved, 5, usize::MAX).expect("it runs").history;
    let mut falsified = 0;
    for number in 0..history.transactions.len() {
        for step in 0..history.transactions[number].steps.len() {
            let mut false_history = history.clone();
            let answer = &mut false_history.transactions[number].steps[step].answer;
            let Answer::Rows(rows) = answer else { continue };
            if rows.pop().is_none() {
                let Some(Seen { row, content }) = some_row(&history) else { continue };
                rows.push(Seen { row, content });
            }
            falsified += 1;
            assert!(!Checked::new(false_history).findings.is_empty(), "T{number}, step {step}");
        }
    }
    assert!(falsified > 10);
}

fn some_row(history: &crate::history::History) -> Option<Seen> {
    let steps = history.transactions.iter().flat_map(|transaction| &transaction.steps);
    let mut rows = steps.filter_map(|step| match &step.answer {
        Answer::Rows(rows) => rows.first().cloned(),
        _ => None,
    });
    rows.next()
}
