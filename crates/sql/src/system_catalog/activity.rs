//! `pg_stat_activity`: who is connected, and what each session does.
//!
//! What a session does is shown to superusers and to its own role; others learn who is there.

use super::information::CATALOG;
use super::rows::Described;
use crate::activity::{Activity, Now};
use crate::catalog::role::Actor;
use crate::catalog::snapshot::Snapshot;
use crate::context::StatementContext;
use crate::values::datum::Datum;

/// The number of the database, as `pg_database` has it.
const DATABASE: i64 = 5;

const COLUMNS: [(&str, char); 22] = [
    ("datid", 'i'),
    ("datname", 't'),
    ("pid", 'n'),
    ("leader_pid", 'n'),
    ("usesysid", 'i'),
    ("usename", 't'),
    ("application_name", 't'),
    ("client_addr", 't'),
    ("client_hostname", 't'),
    ("client_port", 'n'),
    ("backend_start", 'z'),
    ("xact_start", 'z'),
    ("query_start", 'z'),
    ("state_change", 'z'),
    ("wait_event_type", 't'),
    ("wait_event", 't'),
    ("state", 't'),
    ("backend_xid", 'i'),
    ("backend_xmin", 'i'),
    ("query_id", 'i'),
    ("query", 't'),
    ("backend_type", 't'),
];

/// The sessions that have clients.
pub(crate) fn sessions(context: &StatementContext, catalog: &Snapshot) -> Described {
    let mut rows = Described::new(&COLUMNS);
    let is_superuser = context.actor.is_superuser(catalog);
    for activity in context.database.activities.all() {
        rows.add(row(&activity, is_superuser || activity.actor == context.actor));
    }
    rows
}

fn row(activity: &Activity, is_shown: bool) -> Vec<Datum> {
    let Now { state, application, query, query_begun, transaction_begun, changed } =
        activity.shown();
    let hidden = |datum: Datum| if is_shown { datum } else { Datum::Null };
    let moment = |at: Option<i64>| hidden(at.map_or(Datum::Null, Datum::TimestampTz));
    let role = match activity.actor {
        Actor::Role(role) => Datum::Int(role.0),
        Actor::Program => Datum::Null,
    };
    let client = &activity.client;
    // A local socket has no port, which is shown as -1.
    let port = client.port.map_or(-1, i64::from);
    let query = if is_shown { query } else { "<insufficient privilege>".to_owned() };
    vec![
        Datum::Int(DATABASE),
        CATALOG.into(),
        Datum::Int(client.process.into()),
        Datum::Null,
        role,
        activity.user.as_str().into(),
        application.into(),
        hidden(client.address.clone().into()),
        Datum::Null,
        hidden(Datum::Int(port)),
        moment(Some(activity.begun)),
        moment(transaction_begun),
        moment(query_begun),
        moment(changed),
        Datum::Null,
        Datum::Null,
        hidden(state.into()),
        Datum::Null,
        Datum::Null,
        Datum::Null,
        query.into(),
        hidden("client backend".into()),
    ]
}
