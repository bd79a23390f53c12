//! What statements do one after the other and beside each other: they change rows, wait for those
//! of others, refuse each other only when they must, and are planned once.

mod backups;
mod changes;
mod changing;
mod disjoint_keys;
mod fixed_length;
mod known_plans;
mod long_lists;
mod notifications;
mod returning;
mod sequences;
mod stages;
mod stages_at_random;
mod waiting;
mod wildcards;
