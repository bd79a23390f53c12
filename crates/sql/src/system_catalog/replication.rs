//! `pg_stat_replication` and `pg_stat_wal_receiver`: the group, as leader and followers see it.
//!
//! Positions are bytes of log, which are the same in all replicas, in PostgreSQL's way of writing
//! them. What a leader does not know, such as what is on another's disk, is NULL; and what is not
//! for roles that are no superusers.

use super::rows::Described;
use crate::context::StatementContext;
use crate::group::GroupView;
use crate::values::datum::Datum;

const REPLICATION: [(&str, char); 20] = [
    ("pid", 'n'),
    ("usesysid", 'i'),
    ("usename", 't'),
    ("application_name", 't'),
    ("client_addr", 't'),
    ("client_hostname", 't'),
    ("client_port", 'n'),
    ("backend_start", 'z'),
    ("backend_xmin", 'i'),
    ("state", 't'),
    ("sent_lsn", 't'),
    ("write_lsn", 't'),
    ("flush_lsn", 't'),
    ("replay_lsn", 't'),
    ("write_lag", 't'),
    ("flush_lag", 't'),
    ("replay_lag", 't'),
    ("sync_priority", 'n'),
    ("sync_state", 't'),
    ("reply_time", 'z'),
];

const RECEIVER: [(&str, char); 15] = [
    ("pid", 'n'),
    ("status", 't'),
    ("receive_start_lsn", 't'),
    ("receive_start_tli", 'n'),
    ("written_lsn", 't'),
    ("flushed_lsn", 't'),
    ("received_tli", 'n'),
    ("last_msg_send_time", 'z'),
    ("last_msg_receipt_time", 'z'),
    ("latest_end_lsn", 't'),
    ("latest_end_time", 'z'),
    ("slot_name", 't'),
    ("sender_host", 't'),
    ("sender_port", 'n'),
    ("conninfo", 't'),
];

/// The first columns, which everybody is shown.
const NAMES: usize = 4;

/// Those that follow, a row each: none but on the leader.
pub(crate) fn followers(context: &StatementContext) -> Described {
    let mut rows = Described::new(&REPLICATION);
    let Some(view) = view(context).filter(|view| view.leader == Some(view.id)) else { return rows };
    let is_shown = context.is_superuser();
    for member in view.members.iter().filter(|member| member.id != view.id) {
        let (host, port) = host_and_port(&member.address);
        let received = lsn(member.position);
        // What is on its way and no more is not behind.
        let is_near = member.position.is_some_and(|position| position >= view.replicated);
        let state = if is_near { "streaming" } else { "catchup" };
        let sync = if member.votes { "quorum" } else { "async" };
        let mut row = vec![
            Datum::Null,
            Datum::Null,
            Datum::Null,
            format!("replica {}", member.id).into(),
            host.into(),
            Datum::Null,
            port,
            Datum::Null,
            Datum::Null,
            state.into(),
            lsn(Some(view.last)),
            received,
            Datum::Null,
            Datum::Null,
            Datum::Null,
            Datum::Null,
            Datum::Null,
            Datum::Int(i64::from(member.votes)),
            sync.into(),
            Datum::Null,
        ];
        if !is_shown {
            row.iter_mut().skip(NAMES).for_each(|datum| *datum = Datum::Null);
        }
        rows.add(row);
    }
    rows
}

/// The one that is followed: a row on a follower that knows its leader.
pub(crate) fn receiver(context: &StatementContext) -> Described {
    let mut rows = Described::new(&RECEIVER);
    if !context.is_superuser() {
        return rows;
    }
    let Some(view) = view(context).filter(|view| view.leader != Some(view.id)) else { return rows };
    let Some(leader) = view.leader.and_then(|id| view.member(id)) else { return rows };
    let (host, port) = host_and_port(&leader.address);
    let term = Datum::Int(view.term.try_into().unwrap_or(i64::MAX));
    rows.add(vec![
        Datum::Null,
        "streaming".into(),
        Datum::Null,
        Datum::Null,
        lsn(Some(view.last)),
        lsn(Some(view.synced)),
        term,
        Datum::Null,
        Datum::Null,
        lsn(Some(view.replicated)),
        Datum::Null,
        Datum::Null,
        host.into(),
        port,
        Datum::Null,
    ]);
    rows
}

fn view(context: &StatementContext) -> Option<GroupView> {
    context.database.group.get().map(|group| group.view())
}

/// A position as PostgreSQL writes it: two numbers of 32 bits, hexadecimal.
fn lsn(position: Option<u64>) -> Datum {
    position.map(|position| format!("{:X}/{:X}", position >> 32, position & 0xffff_ffff)).into()
}

fn host_and_port(address: &str) -> (&str, Datum) {
    match address.rsplit_once(':') {
        Some((host, port)) => (
            host.trim_matches(['[', ']']),
            port.parse::<u16>().map_or(Datum::Null, |port| Datum::Int(port.into())),
        ),
        None => (address, Datum::Null),
    }
}
