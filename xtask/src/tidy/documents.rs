//! Checks of pages: what they say is there, and is as they say.
//!
//! A page is Markdown; what a comment in Rust says of a page is checked here too.

pub(super) mod architecture;
pub(super) mod book;
pub(super) mod format_numbers;
pub(super) mod glossary;
pub(super) mod links;
pub(super) mod markdown_title;
pub(super) mod path_pages;
