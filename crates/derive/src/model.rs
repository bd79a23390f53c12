//! A struct with `#[record(..)]` as understood: fields, columns, indexes, where everything is.
//!
//! What this accepts expands to code that compiles, as far as can be told without types. Errors
//! point at the token to change.

use std::collections::HashSet;

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Expr, Field, Fields, GenericParam, Ident, LitInt, Type, Visibility};

use crate::attributes::{
    FieldAttributes, IndexAttribute, PartAttribute, StructAttributes, limit, unraw,
};
use crate::crate_path::schema_path;
use crate::field_type::{byte_array_len, has_lifetime, option_inner, with_lifetime};

/// A struct to derive for.
pub(crate) struct Model<'i> {
    pub(crate) ident: &'i Ident,
    pub(crate) visibility: &'i Visibility,
    pub(crate) has_lifetime: bool,
    /// The table's name.
    pub(crate) name: String,
    /// The path of the schema crate.
    pub(crate) schema: TokenStream,
    /// Whether columns may leave memory.
    pub(crate) is_paged: bool,
    pub(crate) fields: Vec<FieldModel<'i>>,
    pub(crate) indexes: Vec<IndexAttribute>,
}

/// A field.
pub(crate) struct FieldModel<'i> {
    pub(crate) ident: &'i Ident,
    pub(crate) field_type: &'i Type,
    /// The column's name.
    pub(crate) column: String,
    pub(crate) default: Option<Expr>,
    pub(crate) max: Option<LitInt>,
    /// The length of a `[u8; N]` that is a Binary column.
    pub(crate) binary: Option<&'i Expr>,
}

impl<'i> Model<'i> {
    pub(crate) fn parse(input: &'i DeriveInput) -> syn::Result<Model<'i>> {
        let attributes = StructAttributes::parse(&input.attrs)?;
        let has_lifetime = check_generics(input)?;
        let fields =
            named_fields(input)?.map(FieldModel::parse).collect::<syn::Result<Vec<_>>>()?;
        let mut columns = HashSet::new();
        for field in &fields {
            if !columns.insert(&field.column) {
                let message = format!("there is a column named `{}` already", field.column);
                return Err(syn::Error::new(field.ident.span(), message));
            }
        }
        let ident = &input.ident;
        let model = Model {
            ident,
            visibility: &input.vis,
            has_lifetime,
            name: attributes.name.map_or_else(|| unraw(ident), |name| name.value()),
            schema: schema_path(attributes.crate_path.as_ref()),
            is_paged: attributes.storage.is_some_and(|storage| storage == "paged"),
            fields,
            indexes: attributes.indexes,
        };
        for index in &model.indexes {
            index.parts.iter().try_for_each(|part| model.check_part(index, part))?;
        }
        Ok(model)
    }

    /// The struct's type with its lifetime, if it has one, as given: `'a`.
    pub(crate) fn self_type(&self, lifetime: TokenStream) -> TokenStream {
        let ident = self.ident;
        if self.has_lifetime { quote!(#ident<#lifetime>) } else { quote!(#ident) }
    }

    /// What stands between `impl` and the trait: `<'a>` or nothing.
    pub(crate) fn impl_generics(&self) -> TokenStream {
        if self.has_lifetime { quote!(<'a>) } else { TokenStream::new() }
    }

    /// The field that a key's part begins at.
    pub(crate) fn field_of(&self, part: &PartAttribute) -> syn::Result<&FieldModel<'i>> {
        let first = &part.path[0];
        self.fields.iter().find(|field| field.ident == first).ok_or_else(|| {
            syn::Error::new(first.span(), format!("`{}` has no field `{first}`", self.ident))
        })
    }

    fn check_part(&self, index: &IndexAttribute, part: &PartAttribute) -> syn::Result<()> {
        let field = self.field_of(part)?;
        let inner = option_inner(field.field_type);
        if index.primary && inner.is_some() {
            let message = "a part of the primary key cannot be an `Option`";
            return Err(syn::Error::new(part.path[0].span(), message));
        }
        if field.binary.is_none() && matches!(inner.unwrap_or(field.field_type), Type::Array(_)) {
            let message = "an array cannot be part of a key; bytes can, with #[record(binary)]";
            return Err(syn::Error::new(part.path[0].span(), message));
        }
        Ok(())
    }
}

impl<'i> FieldModel<'i> {
    fn parse(field: &'i Field) -> syn::Result<FieldModel<'i>> {
        let ident = field.ident.as_ref().expect("fields of this struct are named");
        let attributes = FieldAttributes::parse(&field.attrs)?;
        let column = attributes.name.map_or_else(|| unraw(ident), |name| name.value());
        if has_lifetime(field.ty.to_token_stream(), Some("static")) {
            let message = "what a record borrows has the record's lifetime, not `'static`";
            return Err(syn::Error::new(field.ty.span(), message));
        }
        let bytes = byte_array_len(option_inner(&field.ty).unwrap_or(&field.ty));
        if let (Some(word), None) = (&attributes.binary, bytes) {
            return Err(syn::Error::new(word.span(), "only `[u8; N]` can be binary"));
        }
        Ok(FieldModel {
            ident,
            field_type: &field.ty,
            column,
            default: attributes.default,
            max: attributes.max,
            binary: bytes.filter(|_| attributes.binary.is_some()),
        })
    }

    /// The type that implements `Field`, with lifetimes `'static` for use in constants.
    pub(crate) fn static_type(&self) -> TokenStream {
        match (self.binary, option_inner(self.field_type)) {
            (None, _) => with_lifetime(self.field_type.to_token_stream(), "static"),
            (Some(len), None) => quote!(__schema::BinaryArray<{ #len }>),
            (Some(len), Some(_)) => {
                quote!(::core::option::Option<__schema::BinaryArray<{ #len }>>)
            }
        }
    }

    /// A reference to the field's value, as the type that implements `Field`.
    pub(crate) fn borrowed(&self) -> TokenStream {
        let ident = self.ident;
        match (self.binary, option_inner(self.field_type)) {
            (None, _) => quote!(&self.#ident),
            (Some(_), None) => quote!(&__schema::BinaryArray(self.#ident)),
            (Some(_), Some(_)) => quote!(&self.#ident.map(__schema::BinaryArray)),
        }
    }

    /// The field's value, from an expression of the type that implements `Field`.
    pub(crate) fn unwrapped(&self, value: TokenStream) -> TokenStream {
        match (self.binary, option_inner(self.field_type)) {
            (None, _) => value,
            (Some(_), None) => quote!(#value.0),
            (Some(_), Some(_)) => quote!(#value.map(|bytes| bytes.0)),
        }
    }

    /// The greatest length, an `Option<u32>`.
    pub(crate) fn limit(&self) -> TokenStream {
        limit(self.max.as_ref())
    }
}

/// Whether there is a lifetime; nothing else is allowed.
fn check_generics(input: &DeriveInput) -> syn::Result<bool> {
    for (index, parameter) in input.generics.params.iter().enumerate() {
        let message = match parameter {
            GenericParam::Lifetime(_) if index == 0 => continue,
            GenericParam::Lifetime(_) => "a record has at most one lifetime",
            _ => "a record has no type or const parameters",
        };
        return Err(syn::Error::new(parameter.span(), message));
    }
    Ok(!input.generics.params.is_empty())
}

fn named_fields(input: &DeriveInput) -> syn::Result<impl Iterator<Item = &Field>> {
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) if !fields.named.is_empty() => Ok(fields.named.iter()),
            _ => Err(syn::Error::new(input.ident.span(), "a record has named fields")),
        },
        _ => Err(syn::Error::new(input.ident.span(), "a record is a struct")),
    }
}

#[cfg(test)]
mod tests;
