//! The kinds of statements that there are.
//!
//! A statement runs only if it has a kind: [`Kind::of`] is asked before anything of it is done, and
//! what it does not know is refused. So the list is whole, and a test that goes through it (who may
//! run what, on which object) goes through all that can be run.

use datafusion::sql::sqlparser::ast::{CopyTarget, ObjectType, Query, SetExpr, Statement as Ast};

use super::Statement;

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What a statement does, and so who may run it.
        ///
        /// # Examples
        /// ```
        /// use remanent_sql::{Kind, Statement};
        /// let kind = |text| Statement::parse(text).map(|statement| Kind::of(&statement));
        /// assert_eq!(kind("values (1)")?, Some(Kind::Select));
        /// assert_eq!(kind("drop index i")?, Some(Kind::DropIndex));
        /// assert_eq!(kind("create extension x")?, None);
        /// # Ok::<(), remanent_sql::Error>(())
        /// ```
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Kind { $($(#[$doc])* $name,)* }

        impl Kind {
            /// All kinds.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];
        }
    };
}

kinds! {
    /// SELECT, VALUES, TABLE.
    Select,
    /// INSERT, with or without ON CONFLICT.
    Insert,
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
    /// MERGE.
    Merge,
    /// TRUNCATE.
    Truncate,
    /// COPY from the caller or from a file.
    CopyFrom,
    /// COPY to the caller or to a file.
    CopyTo,
    /// DECLARE, of a cursor.
    Declare,
    /// FETCH and MOVE.
    Fetch,
    /// CLOSE.
    Close,
    /// EXPLAIN.
    Explain,
    /// PREPARE.
    Prepare,
    /// EXECUTE.
    Execute,
    /// DEALLOCATE.
    Deallocate,
    /// DISCARD.
    Discard,
    /// SET.
    Set,
    /// SHOW.
    Show,
    /// RESET.
    Reset,
    /// LISTEN.
    Listen,
    /// UNLISTEN.
    Unlisten,
    /// NOTIFY.
    Notify,
    /// BEGIN, START TRANSACTION.
    Begin,
    /// COMMIT, END.
    Commit,
    /// ROLLBACK, also to a savepoint.
    Rollback,
    /// SAVEPOINT.
    Savepoint,
    /// RELEASE.
    Release,
    /// ANALYZE.
    Analyze,
    /// VACUUM.
    Vacuum,
    /// CREATE TABLE, CREATE TABLE AS.
    CreateTable,
    /// CREATE INDEX.
    CreateIndex,
    /// CREATE VIEW.
    CreateView,
    /// CREATE SEQUENCE.
    CreateSequence,
    /// CREATE SCHEMA.
    CreateSchema,
    /// CREATE ROLE, CREATE USER.
    CreateRole,
    /// ALTER TABLE, also OWNER TO of views and sequences.
    AlterTable,
    /// ALTER SCHEMA.
    AlterSchema,
    /// ALTER ROLE, ALTER USER.
    AlterRole,
    /// COMMENT ON.
    Comment,
    /// DROP TABLE.
    DropTable,
    /// DROP VIEW.
    DropView,
    /// DROP INDEX.
    DropIndex,
    /// DROP SEQUENCE.
    DropSequence,
    /// DROP SCHEMA.
    DropSchema,
    /// DROP ROLE, DROP USER.
    DropRole,
    /// GRANT.
    Grant,
    /// REVOKE.
    Revoke,
}

/// The change that stands behind named queries: `WITH .. INSERT`.
pub(crate) fn changed_by(query: &Query) -> Option<&Ast> {
    match query.body.as_ref() {
        SetExpr::Insert(change)
        | SetExpr::Update(change)
        | SetExpr::Delete(change)
        | SetExpr::Merge(change) => Some(change),
        _ => None,
    }
}

impl Kind {
    /// The kind of a statement; `None` if it cannot be run.
    pub fn of(statement: &Statement) -> Option<Self> {
        Self::of_ast(&statement.ast)
    }

    /// Whether it is about roles and rights, and about nothing else.
    pub(crate) fn is_of_rights(self) -> bool {
        use Kind as K;
        matches!(self, K::Grant | K::Revoke | K::CreateRole | K::AlterRole | K::DropRole)
    }

    pub(crate) fn of_ast(statement: &Ast) -> Option<Self> {
        Self::of_rows(statement)
            .or_else(|| Self::of_session(statement))
            .or_else(|| Self::of_definition(statement))
    }

    fn of_rows(statement: &Ast) -> Option<Self> {
        Some(match statement {
            Ast::Query(query) => match changed_by(query) {
                Some(change) => return Self::of_rows(change),
                None => Self::Select,
            },
            Ast::Insert(_) => Self::Insert,
            Ast::Update(_) => Self::Update,
            Ast::Delete(_) => Self::Delete,
            Ast::Merge(_) => Self::Merge,
            Ast::Truncate(_) => Self::Truncate,
            // A program is started for nobody.
            Ast::Copy { target: CopyTarget::Program { .. }, .. } => return None,
            Ast::Copy { to: true, .. } => Self::CopyTo,
            Ast::Copy { to: false, .. } => Self::CopyFrom,
            Ast::Declare { .. } => Self::Declare,
            Ast::Fetch { .. } => Self::Fetch,
            Ast::Close { .. } => Self::Close,
            Ast::Analyze(_) => Self::Analyze,
            Ast::Vacuum(_) => Self::Vacuum,
            _ => return None,
        })
    }

    fn of_session(statement: &Ast) -> Option<Self> {
        Some(match statement {
            Ast::Explain { .. } => Self::Explain,
            Ast::Prepare { .. } => Self::Prepare,
            Ast::Execute { .. } => Self::Execute,
            Ast::Deallocate { .. } => Self::Deallocate,
            Ast::Discard { .. } => Self::Discard,
            Ast::Set(_) => Self::Set,
            Ast::ShowVariable { .. } => Self::Show,
            Ast::Reset(_) => Self::Reset,
            Ast::LISTEN { .. } => Self::Listen,
            Ast::UNLISTEN { .. } => Self::Unlisten,
            Ast::NOTIFY { .. } => Self::Notify,
            Ast::StartTransaction { .. } => Self::Begin,
            Ast::Commit { .. } => Self::Commit,
            Ast::Rollback { .. } => Self::Rollback,
            Ast::Savepoint { .. } => Self::Savepoint,
            Ast::ReleaseSavepoint { .. } => Self::Release,
            _ => return None,
        })
    }

    fn of_definition(statement: &Ast) -> Option<Self> {
        Some(match statement {
            Ast::CreateTable(_) => Self::CreateTable,
            Ast::CreateIndex(_) => Self::CreateIndex,
            Ast::CreateView(_) => Self::CreateView,
            Ast::CreateSequence { .. } => Self::CreateSequence,
            Ast::CreateSchema { .. } => Self::CreateSchema,
            Ast::CreateRole(_) => Self::CreateRole,
            Ast::AlterTable(_) => Self::AlterTable,
            Ast::AlterSchema(_) => Self::AlterSchema,
            Ast::AlterRole { .. } => Self::AlterRole,
            Ast::Comment { .. } => Self::Comment,
            Ast::Drop { object_type, .. } => match object_type {
                ObjectType::Table => Self::DropTable,
                ObjectType::View => Self::DropView,
                ObjectType::Index => Self::DropIndex,
                ObjectType::Sequence => Self::DropSequence,
                ObjectType::Schema => Self::DropSchema,
                ObjectType::Role => Self::DropRole,
                _ => return None,
            },
            Ast::Grant(_) => Self::Grant,
            Ast::Revoke(_) => Self::Revoke,
            _ => return None,
        })
    }
}
