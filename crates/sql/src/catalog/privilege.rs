//! Rights: what a role may be allowed to do with an object that is not its own.
//!
//! Each kind of object has its own; whoever owns an object has all of them.

use crate::catalog::store::Kind;

/// What a role may do with an object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Privilege {
    Select,
    Insert,
    Update,
    Delete,
    Truncate,
    References,
    Usage,
    Create,
}

impl Privilege {
    pub(crate) const ALL: [Self; 8] = [
        Self::Select,
        Self::Insert,
        Self::Update,
        Self::Delete,
        Self::Truncate,
        Self::References,
        Self::Usage,
        Self::Create,
    ];

    /// As GRANT says it, and as it is written down.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Select => "SELECT",
            Self::Insert => "INSERT",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Truncate => "TRUNCATE",
            Self::References => "REFERENCES",
            Self::Usage => "USAGE",
            Self::Create => "CREATE",
        }
    }

    /// The right of this name, in any case of letters.
    pub(crate) fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|privilege| privilege.word().eq_ignore_ascii_case(word))
    }

    /// All rights that there are on objects of a kind.
    pub(crate) fn on(kind: Kind) -> &'static [Self] {
        match kind {
            Kind::Table | Kind::View => &[
                Self::Select,
                Self::Insert,
                Self::Update,
                Self::Delete,
                Self::Truncate,
                Self::References,
            ],
            Kind::Sequence => &[Self::Usage, Self::Select, Self::Update],
            Kind::Schema => &[Self::Usage, Self::Create],
            Kind::Role | Kind::Secret => &[],
        }
    }
}
