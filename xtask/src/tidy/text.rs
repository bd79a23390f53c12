//! Checks of the text of files, each file by itself: lengths, characters, headers, names.
//!
//! What several files have to do with each other is not here.

pub(super) mod ascii;
pub(super) mod file_length;
pub(super) mod function_length;
pub(super) mod header;
pub(super) mod inline_tests;
pub(super) mod large_files;
pub(super) mod leftovers;
pub(super) mod line_length;
pub(super) mod names;
pub(super) mod white_space;
