//! What may happen in the model test, and how often.

use proptest::prelude::*;

use crate::item::{Content, Edit, content, edit};

/// Writing transactions that may be open side by side.
pub(crate) const WRITERS: usize = 3;
/// Snapshots that may be held side by side.
pub(crate) const SNAPSHOTS: usize = 4;

/// One step. `writer` says which transaction takes it; one is begun where there is none. `pick`
/// chooses among whatever there is to choose from at that moment.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    Insert { writer: usize, content: Content },
    InsertBulk { writer: usize, content: Content },
    InsertMany { writer: usize, content: Content, count: u64 },
    Edit { writer: usize, pick: usize, edit: Edit },
    Replace { writer: usize, pick: usize, content: Content },
    Delete { writer: usize, pick: usize },
    DeleteMany { writer: usize, step: usize },
    InsertAgain { writer: usize, pick: usize },
    Savepoint { writer: usize },
    RollBackTo { writer: usize, pick: usize },
    RollBack { writer: usize },
    Commit { writer: usize },
    Snapshot,
    CheckSnapshot { pick: usize },
    EndSnapshot { pick: usize },
    CreateIndex { which: u8 },
    DropIndex { pick: usize },
    Reclaim,
    Freeze,
}

pub(crate) fn operation() -> impl Strategy<Value = Operation> {
    use Operation::*;
    let writer = || prop_oneof![3 => Just(0), 1 => 0..WRITERS];
    let pick = any::<u16>().prop_map(usize::from);
    let picked = || (writer(), any::<u16>().prop_map(usize::from));
    prop_oneof![
        30 => (writer(), content()).prop_map(|(writer, content)| Insert { writer, content }),
        4 => (writer(), content()).prop_map(|(writer, content)| InsertBulk { writer, content }),
        2 => (writer(), content(), 1..300u64)
            .prop_map(|(writer, content, count)| InsertMany { writer, content, count }),
        25 => (picked(), edit())
            .prop_map(|((writer, pick), edit)| Edit { writer, pick, edit }),
        5 => (picked(), content())
            .prop_map(|((writer, pick), content)| Replace { writer, pick, content }),
        14 => picked().prop_map(|(writer, pick)| Delete { writer, pick }),
        1 => (writer(), 1..4usize).prop_map(|(writer, step)| DeleteMany { writer, step }),
        5 => picked().prop_map(|(writer, pick)| InsertAgain { writer, pick }),
        5 => writer().prop_map(|writer| Savepoint { writer }),
        4 => picked().prop_map(|(writer, pick)| RollBackTo { writer, pick }),
        2 => writer().prop_map(|writer| RollBack { writer }),
        12 => writer().prop_map(|writer| Commit { writer }),
        3 => Just(Snapshot),
        2 => pick.clone().prop_map(|pick| CheckSnapshot { pick }),
        2 => pick.clone().prop_map(|pick| EndSnapshot { pick }),
        1 => any::<u8>().prop_map(|which| CreateIndex { which }),
        1 => pick.prop_map(|pick| DropIndex { pick }),
        4 => Just(Reclaim),
        3 => Just(Freeze),
    ]
}
