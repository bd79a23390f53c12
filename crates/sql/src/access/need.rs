//! What a statement needs: privileges on tables, or a superuser.
//!
//! A statement that is not known here needs a superuser.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    CopySource, CopyTarget, FromTable, ObjectName, Statement, TableFactor, TableObject,
    visit_relations,
};

use super::Privilege;

/// What a statement needs.
pub(super) enum Needs {
    Nothing,
    Tables(Vec<Need>),
    Superuser,
}

/// A privilege on a table.
pub(super) struct Need {
    pub(super) name: ObjectName,
    pub(super) privilege: Privilege,
}

/// What this statement needs. Statements that are not known here need a superuser.
pub(super) fn of(statement: &Statement) -> Needs {
    use Statement as S;
    match statement {
        S::Query(_) => reads(statement, None),
        S::Insert(insert) => {
            let TableObject::TableName(name) = &insert.table else { return Needs::Superuser };
            let reads_target = insert.on.is_some() || insert.returning.is_some();
            let mut privileges = vec![Privilege::Insert];
            if insert.on.is_some() {
                privileges.push(Privilege::Update);
            }
            changes(statement, name, &privileges, reads_target)
        }
        S::Update(update) => {
            let TableFactor::Table { name, .. } = &update.table.relation else {
                return Needs::Superuser;
            };
            let reads_target = update.selection.is_some() || update.returning.is_some();
            changes(statement, name, &[Privilege::Update], reads_target)
        }
        S::Delete(delete) => {
            let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
            let Some(TableFactor::Table { name, .. }) = from.first().map(|from| &from.relation)
            else {
                return Needs::Superuser;
            };
            let reads_target = delete.selection.is_some() || delete.returning.is_some();
            changes(statement, name, &[Privilege::Delete], reads_target)
        }
        S::Merge(merge) => {
            let TableFactor::Table { name, .. } = &merge.table else { return Needs::Superuser };
            changes(statement, name, &Privilege::ALL, true)
        }
        S::Truncate(truncate) => {
            let needs = truncate.table_names.iter().flat_map(|target| {
                Privilege::ALL.map(|privilege| Need { name: target.name.clone(), privilege })
            });
            Needs::Tables(needs.collect())
        }
        // Files are the server's.
        S::Copy { target: CopyTarget::File { .. }, .. } => Needs::Superuser,
        S::Copy { source: CopySource::Table { table_name, .. }, to, .. } => {
            let privilege = if *to { Privilege::Select } else { Privilege::Insert };
            Needs::Tables(vec![Need { name: table_name.clone(), privilege }])
        }
        S::Copy { source: CopySource::Query(_), .. } => reads(statement, None),
        S::Explain { statement, .. } => of(statement),
        // What is executed is looked at then.
        S::Prepare { .. } | S::Execute { .. } | S::Deallocate { .. } | S::Discard { .. } => {
            Needs::Nothing
        }
        S::Set(_) | S::Reset(_) | S::ShowVariable { .. } | S::Analyze { .. } => Needs::Nothing,
        _ => Needs::Superuser,
    }
}

/// The target's privileges, and reading for all else that is named.
fn changes(
    statement: &Statement,
    target: &ObjectName,
    privileges: &[Privilege],
    reads_target: bool,
) -> Needs {
    let Needs::Tables(mut needs) = reads(statement, (!reads_target).then_some(target)) else {
        return Needs::Superuser;
    };
    let own =
        privileges.iter().map(|privilege| Need { name: target.clone(), privilege: *privilege });
    needs.extend(own);
    Needs::Tables(needs)
}

/// Reading for all tables that are named, but for the target where it stands once.
fn reads(statement: &Statement, target: Option<&ObjectName>) -> Needs {
    let mut names: Vec<ObjectName> = Vec::new();
    let _ = visit_relations(statement, |name| {
        names.push(name.clone());
        ControlFlow::<()>::Continue(())
    });
    if let Some(target) = target
        && let Some(place) = names.iter().position(|name| name == target)
    {
        names.remove(place);
    }
    let need = |name| Need { name, privilege: Privilege::Select };
    Needs::Tables(names.into_iter().map(need).collect())
}
