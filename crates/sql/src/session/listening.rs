//! LISTEN, UNLISTEN and NOTIFY: what a transaction asks for, and who may.
//!
//! Whoever listens to changes of a table may read it, and has changes watched from then on.

use datafusion::sql::sqlparser::ast::{Ident, ObjectName, ObjectNamePart};

use crate::catalog::privilege::Privilege;
use crate::changes::watching;
use crate::context::StatementContext;
use crate::error::Result;
use crate::names::fold;
use crate::notifications::{CHANGES_CHANNEL, Wish, channel_of_table, is_own};
use crate::result::answer::Outcome;

/// LISTEN.
///
/// # Errors
/// `READ_ONLY` on a replica that follows, but for channels of changes; of those, `UNKNOWN_TABLE`,
/// `NO_PRIVILEGE` for who may not read the table, and as [`watching::begin`].
pub(super) fn listen(context: &StatementContext, channel: &Ident) -> Result<Outcome> {
    let channel = fold(channel);
    let wish = if is_own(&channel) {
        let channel = match channel.strip_prefix(CHANGES_CHANNEL) {
            Some(rest) if !rest.is_empty() => of_readable(context, &rest[1..])?,
            _ => channel,
        };
        Wish::Listen(channel, Some(watching::begin(&context.database)?))
    } else {
        context.database.check_takes_changes()?;
        Wish::Listen(channel, None)
    };
    context.notifying.ask(wish);
    Ok(Outcome::verb("LISTEN"))
}

/// The channel of a table that may be read.
fn of_readable(context: &StatementContext, table: &str) -> Result<String> {
    let parts = table.splitn(2, '.').map(|name| Ident::with_quote('"', name));
    let name = ObjectName(parts.map(ObjectNamePart::Identifier).collect());
    let catalog = context.catalog();
    let table = context.access(&catalog).find(&name, &[Privilege::Select])?;
    Ok(channel_of_table(&table.name.schema, &table.name.name))
}

/// UNLISTEN, from one channel or from all.
pub(super) fn unlisten(context: &StatementContext, channel: &Ident) -> Outcome {
    let is_all = channel.quote_style.is_none() && channel.value == "*";
    context.notifying.ask(Wish::Unlisten((!is_all).then(|| fold(channel))));
    Outcome::verb("UNLISTEN")
}

/// NOTIFY.
///
/// # Errors
/// `READ_ONLY` on a replica that follows; as [`Notifying::notify`].
///
/// [`Notifying::notify`]: crate::notifications::Notifying::notify
pub(super) fn notify(
    context: &StatementContext,
    channel: &Ident,
    payload: Option<&str>,
) -> Result<Outcome> {
    context.database.check_takes_changes()?;
    context.notifying.notify(&fold(channel), payload.unwrap_or_default())?;
    Ok(Outcome::verb("NOTIFY"))
}
