//! The grammar of `#[record(..)]`, on structs and on fields.
//!
//! Everything is parsed with its span, so that later errors point at what the user wrote. Names
//! are not resolved here; that a key's parts are fields is for `model` to find out.

use proc_macro2::{Span, TokenStream};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, Ident, LitInt, LitStr, Path, Token, parenthesized};

/// What the struct's attributes say.
#[derive(Default)]
pub(crate) struct StructAttributes {
    pub(crate) name: Option<LitStr>,
    pub(crate) crate_path: Option<Path>,
    /// `memory` or `paged`.
    pub(crate) storage: Option<Ident>,
    /// In order, but for the primary key, which is first.
    pub(crate) indexes: Vec<IndexAttribute>,
}

/// An index, primary or not.
pub(crate) struct IndexAttribute {
    pub(crate) name: String,
    pub(crate) span: Span,
    pub(crate) parts: Vec<PartAttribute>,
    pub(crate) unique: bool,
    pub(crate) hash: bool,
    pub(crate) primary: bool,
}

/// A part of a key: a field's path and a direction.
pub(crate) struct PartAttribute {
    pub(crate) path: Vec<Ident>,
    pub(crate) descending: bool,
}

/// What a field's attributes say.
#[derive(Default)]
pub(crate) struct FieldAttributes {
    pub(crate) name: Option<LitStr>,
    pub(crate) default: Option<Expr>,
    pub(crate) max: Option<LitInt>,
    pub(crate) binary: Option<Ident>,
}

impl StructAttributes {
    pub(crate) fn parse(attributes: &[Attribute]) -> syn::Result<StructAttributes> {
        let mut parsed = StructAttributes::default();
        for_each_item(attributes, |key, input| parsed.parse_item(key, input))?;
        Ok(parsed)
    }

    fn parse_item(&mut self, key: Ident, input: ParseStream<'_>) -> syn::Result<()> {
        match key.to_string().as_str() {
            "name" => set(&mut self.name, &key, assigned(input)?),
            "crate" => {
                let path: LitStr = assigned(input)?;
                set(&mut self.crate_path, &key, path.parse()?)
            }
            "storage" => {
                let storage: Ident = assigned(input)?;
                if storage != "memory" && storage != "paged" {
                    return Err(syn::Error::new(storage.span(), "expected memory or paged"));
                }
                set(&mut self.storage, &key, storage)
            }
            "primary_key" => {
                if self.indexes.iter().any(|index| index.primary) {
                    return Err(syn::Error::new(key.span(), "there is a primary key already"));
                }
                let parts = parse_parts(input)?;
                let (name, span) = ("primary".to_owned(), key.span());
                let index =
                    IndexAttribute { name, span, parts, unique: true, hash: false, primary: true };
                self.indexes.insert(0, index);
                Ok(())
            }
            "index" => self.parse_indexes(input, false, false),
            "unique_index" => self.parse_indexes(input, true, false),
            "hash_index" => self.parse_indexes(input, false, true),
            "unique_hash_index" => self.parse_indexes(input, true, true),
            _ => Err(syn::Error::new(
                key.span(),
                "expected name, primary_key, index, unique_index, hash_index, \
                 unique_hash_index, storage or crate",
            )),
        }
    }

    /// `(name(parts), ..)`.
    fn parse_indexes(
        &mut self,
        input: ParseStream<'_>,
        unique: bool,
        hash: bool,
    ) -> syn::Result<()> {
        let content;
        parenthesized!(content in input);
        let indexes = Punctuated::<NamedParts, Token![,]>::parse_terminated(&content)?;
        for NamedParts { ident, parts } in indexes {
            let (name, span) = (unraw(&ident), ident.span());
            let index = IndexAttribute { name, span, parts, unique, hash, primary: false };
            if index.name == "primary" || self.indexes.iter().any(|other| other.name == index.name)
            {
                let message = format!("there is an index named `{}` already", index.name);
                return Err(syn::Error::new(index.span, message));
            }
            self.indexes.push(index);
        }
        Ok(())
    }
}

impl FieldAttributes {
    pub(crate) fn parse(attributes: &[Attribute]) -> syn::Result<FieldAttributes> {
        let mut parsed = FieldAttributes::default();
        for_each_item(attributes, |key, input| match key.to_string().as_str() {
            "name" => set(&mut parsed.name, &key, assigned(input)?),
            "default" => set(&mut parsed.default, &key, assigned(input)?),
            "max" => set(&mut parsed.max, &key, assigned(input)?),
            "binary" => set(&mut parsed.binary, &key, key.clone()),
            _ => Err(syn::Error::new(key.span(), "expected name, default, max or binary")),
        })?;
        Ok(parsed)
    }
}

/// `name(parts)`.
struct NamedParts {
    ident: Ident,
    parts: Vec<PartAttribute>,
}

impl Parse for NamedParts {
    fn parse(input: ParseStream<'_>) -> syn::Result<NamedParts> {
        Ok(NamedParts { ident: input.parse()?, parts: parse_parts(input)? })
    }
}

impl Parse for PartAttribute {
    fn parse(input: ParseStream<'_>) -> syn::Result<PartAttribute> {
        let mut path = vec![input.parse::<Ident>()?];
        while input.parse::<Option<Token![.]>>()?.is_some() {
            path.push(input.parse()?);
        }
        let descending = match input.parse::<Option<Ident>>()? {
            None => false,
            Some(word) if word == "desc" => true,
            Some(word) if word == "asc" => false,
            Some(word) => return Err(syn::Error::new(word.span(), "expected asc, desc or `,`")),
        };
        Ok(PartAttribute { path, descending })
    }
}

/// An identifier's name, without `r#`.
pub(crate) fn unraw(ident: &Ident) -> String {
    let name = ident.to_string();
    name.strip_prefix("r#").map(str::to_owned).unwrap_or(name)
}

/// Calls `parse` for each item of each `#[record(..)]`, with the item's first word.
fn for_each_item(
    attributes: &[Attribute],
    mut parse: impl FnMut(Ident, ParseStream<'_>) -> syn::Result<()>,
) -> syn::Result<()> {
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("record")) {
        attribute.parse_args_with(|input: ParseStream<'_>| {
            while !input.is_empty() {
                // `crate` is a keyword, which `Ident` by itself does not accept.
                let key = syn::ext::IdentExt::parse_any(input)?;
                parse(key, input)?;
                if !input.is_empty() {
                    input.parse::<Token![,]>()?;
                }
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// `= value`.
fn assigned<T: Parse>(input: ParseStream<'_>) -> syn::Result<T> {
    input.parse::<Token![=]>()?;
    input.parse()
}

fn set<T>(slot: &mut Option<T>, key: &Ident, value: T) -> syn::Result<()> {
    if slot.replace(value).is_some() {
        return Err(syn::Error::new(key.span(), format!("`{key}` is given twice")));
    }
    Ok(())
}

/// `(part, ..)`, at least one.
fn parse_parts(input: ParseStream<'_>) -> syn::Result<Vec<PartAttribute>> {
    let content;
    let parentheses = parenthesized!(content in input);
    let parts = Punctuated::<PartAttribute, Token![,]>::parse_terminated(&content)?;
    if parts.is_empty() {
        let message = "a key has at least one part";
        return Err(syn::Error::new(parentheses.span.join(), message));
    }
    Ok(parts.into_iter().collect())
}

/// The limit as an expression of type `Option<u32>`.
pub(crate) fn limit(max: Option<&LitInt>) -> TokenStream {
    match max {
        Some(max) => quote::quote!(::core::option::Option::Some(#max)),
        None => quote::quote!(::core::option::Option::None),
    }
}
