//! What can be told of a field's type by its text alone.
//!
//! A derive macro sees no types, only their spelling: `Option<..>`, `String` and `[u8; N]` are
//! known by it, and lifetimes are exchanged in it. Everything else is left to traits.

use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Expr, GenericArgument, PathArguments, Type};

/// The type within `Option<..>`, if that is how it is spelt.
pub(crate) fn option_inner(field_type: &Type) -> Option<&Type> {
    let Type::Path(path) = field_type else { return None };
    let last = path.path.segments.last()?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match (last.ident == "Option", arguments.args.first()?, arguments.args.len()) {
        (true, GenericArgument::Type(inner), 1) => Some(inner),
        _ => None,
    }
}

/// Whether the type is spelt `String`.
pub(crate) fn is_string(field_type: &Type) -> bool {
    let Type::Path(path) = field_type else { return false };
    path.path.segments.last().is_some_and(|last| last.ident == "String" && last.arguments.is_none())
}

/// The length of `[u8; N]`.
pub(crate) fn byte_array_len(field_type: &Type) -> Option<&Expr> {
    let Type::Array(array) = field_type else { return None };
    let Type::Path(element) = &*array.elem else { return None };
    element.path.is_ident("u8").then_some(&array.len)
}

/// The tokens with every lifetime become `lifetime`, which is given without its quote.
pub(crate) fn with_lifetime(tokens: TokenStream, lifetime: &str) -> TokenStream {
    let mut after_quote = false;
    let exchange = |tree: TokenTree| match tree {
        TokenTree::Group(group) => {
            after_quote = false;
            let inner = with_lifetime(group.stream(), lifetime);
            let mut exchanged = Group::new(group.delimiter(), inner);
            exchanged.set_span(group.span());
            TokenTree::Group(exchanged)
        }
        TokenTree::Ident(ident) if after_quote => {
            after_quote = false;
            TokenTree::Ident(Ident::new(lifetime, ident.span()))
        }
        other => {
            after_quote = matches!(&other, TokenTree::Punct(punct) if punct.as_char() == '\'');
            other
        }
    };
    tokens.into_iter().map(exchange).collect()
}

/// Whether a lifetime occurs in the type, or only the one given.
pub(crate) fn has_lifetime(tokens: TokenStream, only: Option<&str>) -> bool {
    let mut after_quote = false;
    tokens.into_iter().any(|tree| match tree {
        TokenTree::Group(group) => has_lifetime(group.stream(), only),
        TokenTree::Ident(ident) => {
            std::mem::take(&mut after_quote) && only.is_none_or(|only| ident == only)
        }
        TokenTree::Punct(punct) => {
            after_quote = punct.as_char() == '\'';
            false
        }
        TokenTree::Literal(_) => false,
    })
}

/// The type of a key's part made of a field of this type: borrowed for `'k`.
pub(crate) fn part_type(field_type: &Type) -> TokenStream {
    match option_inner(field_type) {
        Some(inner) if is_string(inner) => quote!(::core::option::Option<&'k str>),
        None if is_string(field_type) => quote!(&'k str),
        _ => with_lifetime(field_type.to_token_stream(), "k"),
    }
}

#[cfg(test)]
mod tests;
