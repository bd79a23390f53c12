//! Rows become columns and stay rows for whoever asks: by statements that bring many, by COPY, by
//! queries that read them; and columns come from files and go into files.

mod copy_freeze;
mod files;
mod freeze_on_commit;
mod freeze_on_read;
mod frozen_loads;
mod paged;
