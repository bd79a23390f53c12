//! What may differ between Remanent and PostgreSQL, each with its reason. All else is a defect.

use tokio_postgres::types::Type;

use crate::answer::Answer;

/// Words of messages with 42883 that say that Remanent has no such function, where it says so.
const ABSENT: [&str; 0] = [];

/// Whether a refusal says that Remanent does not do this at all.
pub(crate) fn unsupported(state: &str, message: &str) -> bool {
    state == "0A000" || (state == "42883" && ABSENT.iter().any(|word| message.contains(word)))
}

/// Whether a column may be of another type than PostgreSQL's.
pub(crate) fn types(_text: &str, ours: &Type, theirs: &Type) -> bool {
    let is_text = |of: &Type| [Type::TEXT, Type::VARCHAR, Type::BPCHAR].contains(of);
    // What is computed of text of limited length is text, of which that is a part.
    is_text(ours) && is_text(theirs)
}

/// Whether values of a column may differ in blanks at their end: what is computed of CHAR is text,
/// which has none.
pub(crate) fn blanks(ours: &Type, theirs: &Type) -> bool {
    *ours == Type::TEXT && *theirs == Type::BPCHAR
}

/// Whether a refusal may be of a constant that nobody asks for: PostgreSQL computes constants when
/// it plans, also where no row comes by. Then it refuses to explain the statement, too.
pub(crate) fn of_no_row(ours: &Answer, state: &str) -> bool {
    let is_of_none = match ours {
        Answer::Rows { rows, .. } => rows.is_empty(),
        Answer::Changed(count) => *count == 0,
        _ => false,
    };
    is_of_none && state.starts_with("22")
}

/// Whether a refusal is of a key that two rows have while an UPDATE is at work: PostgreSQL looks
/// with each row, Remanent when all are changed.
pub(crate) fn of_one_row(text: &str, state: &str) -> bool {
    text.starts_with("update ") && state == "23505"
}

/// How far numerics may be apart that have so many digits after the point: one without digits, of a
/// cast or in a table, is one with ten, where PostgreSQL keeps all. Others are equal.
pub(crate) const NUMERICS_APART: f64 = 1e-8;
pub(crate) const DIGITS: usize = 10;

/// How far floats may be apart, as a part of them: they are added up in any order.
pub(crate) const FLOATS_APART: f64 = 1e-12;

/// Whether a statement that both refuse may be refused for another reason.
pub(crate) fn states(ours: &str, theirs: &str, _message: &str) -> bool {
    // Of two faults in one statement either may be met first: a value that cannot be computed,
    // and one that a constraint refuses.
    let is_either = |state: &str| ["21", "22", "23"].contains(&&state[..2]);
    is_either(ours) && is_either(theirs)
}
