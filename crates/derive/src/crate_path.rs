//! By which path derived code reaches the schema crate.
//!
//! A user who depends on the schema crate has it under its own name; one who depends only on
//! `remanent` has it as `remanent::schema`. Both may have been renamed in the user's manifest.

use proc_macro_crate::{FoundCrate, crate_name};
use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{Ident, Path};

/// The schema crate's path: the one given, or what the user's manifest says.
pub(crate) fn schema_path(given: Option<&Path>) -> TokenStream {
    if let Some(path) = given {
        return quote!(#path);
    }
    if let Ok(found) = crate_name("remanent-schema") {
        let name = ident_of(found, "remanent_schema");
        return quote!(::#name);
    }
    if let Ok(found) = crate_name("remanent") {
        let name = ident_of(found, "remanent");
        return quote!(::#name::schema);
    }
    quote!(::remanent_schema)
}

/// A crate's own tests and examples know it by its name, as others do.
fn ident_of(found: FoundCrate, itself: &str) -> Ident {
    match found {
        FoundCrate::Itself => Ident::new(itself, Span::call_site()),
        FoundCrate::Name(name) => Ident::new(&name, Span::call_site()),
    }
}
