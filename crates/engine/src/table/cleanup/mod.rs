//! What no snapshot needs any more leaves the table, and what stays is compacted.
//!
//! In the order in which a reclaimer meets them: [`pins`] are the snapshots that are held and the
//! versions that they need, [`prune`] removes what none of them sees, [`ended`] whole rows whose
//! deletion took no memory, [`compact`] moves rows out of pages in which little is left. When this
//! is done is decided in `transaction/cleanup/`.

pub(crate) mod compact;
pub(crate) mod ended;
pub(crate) mod pins;
pub(crate) mod prune;
