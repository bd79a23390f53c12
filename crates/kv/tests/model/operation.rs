//! What a random program consists of. Keys and values are short and of few bytes, so that they meet
//! often, and are prefixes of one another; zeros and 255 are among them.

use proptest::collection::vec;
use proptest::prelude::*;

/// A key or a value.
pub(crate) type Bytes = Vec<u8>;

/// One step of a program.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    Put(Bytes, Bytes),
    PutNoOverwrite(Bytes, Bytes),
    PutNoDuplicate(Bytes, Bytes),
    PutPartial(Bytes, usize, usize, Bytes),
    Delete(Bytes),
    DeleteBySecondary(Bytes),
    Truncate,
    Get(Vec<Bytes>),
    GetPartial(Bytes, usize, usize),
    Cursor(Vec<Step>),
    Savepoint,
    RollBackToSavepoint,
    Commit,
    RollBack,
    Check,
}

/// One step of a cursor.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    First,
    Last,
    Next,
    Previous,
    Current,
    Set(Bytes),
    SetRange(Bytes),
    GetBoth(Bytes, Bytes),
    GetBothRange(Bytes, Bytes),
    NextDuplicate,
    PreviousDuplicate,
    NextNoDuplicate,
    PreviousNoDuplicate,
    Count,
    Duplicate,
    Bulk(usize),
    Put(Bytes, Bytes),
    PutCurrent(Bytes),
    Delete,
    /// A change beside the cursor.
    PutBeside(Bytes, Bytes),
    DeleteBeside(Bytes),
}

pub(crate) fn operations() -> impl Strategy<Value = Vec<Operation>> {
    vec(operation(), 1..60)
}

fn key() -> impl Strategy<Value = Bytes> {
    let byte = prop_oneof![Just(0), Just(1), Just(b'a'), Just(255)];
    prop_oneof![
        12 => vec(byte.clone(), 0..4),
        // Beyond what a node of the index keeps of a prefix.
        1 => vec(byte, 0..2).prop_map(|end| [&[b'x'; 40][..], &end].concat()),
        1 => Just(vec![0; 200]),
    ]
}

fn value() -> impl Strategy<Value = Bytes> {
    prop_oneof![8 => key(), 1 => vec(any::<u8>(), 0..100)]
}

fn operation() -> impl Strategy<Value = Operation> {
    use Operation as O;
    let pair = || (key(), value());
    let part = || (0..6_usize, 0..6_usize);
    prop_oneof![
        12 => pair().prop_map(|(key, value)| O::Put(key, value)),
        3 => pair().prop_map(|(key, value)| O::PutNoOverwrite(key, value)),
        3 => pair().prop_map(|(key, value)| O::PutNoDuplicate(key, value)),
        2 => (key(), part(), value()).prop_map(|(key, (a, b), value)| {
            O::PutPartial(key, a, b, value)
        }),
        5 => key().prop_map(O::Delete),
        1 => key().prop_map(O::DeleteBySecondary),
        1 => Just(O::Truncate),
        4 => vec(key(), 1..40).prop_map(O::Get),
        2 => (key(), part()).prop_map(|(key, (a, b))| O::GetPartial(key, a, b)),
        6 => vec(step(), 1..30).prop_map(O::Cursor),
        2 => Just(O::Savepoint),
        2 => Just(O::RollBackToSavepoint),
        3 => Just(O::Commit),
        2 => Just(O::RollBack),
        2 => Just(O::Check),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    use Step as S;
    let pair = || (key(), value());
    let moves = vec![
        S::First,
        S::Last,
        S::Next,
        S::Next,
        S::Next,
        S::Previous,
        S::Previous,
        S::Current,
        S::NextDuplicate,
        S::PreviousDuplicate,
        S::NextNoDuplicate,
        S::PreviousNoDuplicate,
        S::Count,
        S::Duplicate,
        S::Delete,
    ];
    prop_oneof![
        12 => prop::sample::select(moves),
        1 => key().prop_map(S::Set),
        1 => key().prop_map(S::SetRange),
        1 => pair().prop_map(|(key, value)| S::GetBoth(key, value)),
        1 => pair().prop_map(|(key, value)| S::GetBothRange(key, value)),
        1 => (0..400_usize).prop_map(S::Bulk),
        2 => pair().prop_map(|(key, value)| S::Put(key, value)),
        1 => value().prop_map(S::PutCurrent),
        2 => pair().prop_map(|(key, value)| S::PutBeside(key, value)),
        1 => key().prop_map(S::DeleteBeside),
    ]
}
