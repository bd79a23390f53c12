//! What records and record structs have in common: constants for the leaves, and the bodies that
//! go through the fields in declared order.
//!
//! All of it stands inside one `const _` block in which `__schema` is the schema crate and
//! `__BASE_<n>` is the first leaf of field `n`, counted from the struct's own first leaf.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::Ident;
use syn::spanned::Spanned;

use crate::model::Model;

/// `__LEAVES`, `__SHAPES`, `__BASE_<n>`, and checks that can only be made with types known.
pub(crate) fn constants(model: &Model<'_>) -> TokenStream {
    let mut bases = TokenStream::new();
    let mut copies = TokenStream::new();
    let mut checks = TokenStream::new();
    let mut end = quote!(0);
    for (index, field) in model.fields.iter().enumerate() {
        let (base, field_type) = (base_of(index), field.static_type());
        let span = field.field_type.span();
        let shapes = quote_spanned!(span=> <#field_type as __schema::Field>::SHAPES);
        bases.extend(quote!(const #base: usize = #end;));
        copies.extend(quote! {
            __schema::LeafShape::copy_into(#shapes, &mut shapes, #base);
        });
        if let Some(max) = &field.max {
            checks.extend(quote_spanned! {max.span()=>
                const _: () = ::core::assert!(
                    <#field_type as __schema::Field>::TAKES_MAX,
                    "only strings, blobs and vectors have a max"
                );
            });
        }
        end = quote!(#base + #shapes.len());
    }
    quote! {
        #bases
        #checks
        const __LEAVES: usize = #end;
        const __SHAPES: [__schema::LeafShape; __LEAVES] = {
            let mut shapes = [__schema::LeafShape::PRESENCE; __LEAVES];
            #copies
            shapes
        };
    }
}

/// A `Vec` of the columns.
pub(crate) fn columns(model: &Model<'_>) -> TokenStream {
    let columns = model.fields.iter().map(|field| {
        let (name, field_type, limit) = (&field.column, field.static_type(), field.limit());
        let default = match &field.default {
            Some(default) => quote! {
                ::core::option::Option::Some(__schema::DefaultValue::from(#default))
            },
            None => quote!(::core::option::Option::None),
        };
        quote! {
            __schema::Column {
                name: ::std::string::String::from(#name),
                column_type: <#field_type as __schema::Field>::column_type(#limit),
                nullable: <#field_type as __schema::Field>::NULLABLE,
                default: #default,
            }
        }
    });
    quote!(::std::vec![#(#columns),*])
}

/// Statements that add to `len` what each field needs, or return its error.
pub(crate) fn measures(model: &Model<'_>) -> TokenStream {
    let statements = model.fields.iter().map(|field| {
        let (name, value, limit) = (&field.column, field.borrowed(), field.limit());
        quote! {
            match __schema::Field::measure(#value, #limit) {
                ::core::result::Result::Ok(bytes) => len = len.saturating_add(bytes),
                ::core::result::Result::Err(error) => {
                    return ::core::result::Result::Err(error.within(#name));
                }
            }
        }
    });
    quote!(#(#statements)*)
}

/// Statements that write each field to `row`; `slot` makes a field's slot of its base.
pub(crate) fn writes(model: &Model<'_>, slot: impl Fn(&Ident) -> TokenStream) -> TokenStream {
    let statements = model.fields.iter().enumerate().map(|(index, field)| {
        let (value, slot) = (field.borrowed(), slot(&base_of(index)));
        quote!(__schema::Field::write(#value, #slot, row);)
    });
    quote!(#(#statements)*)
}

/// The struct, with each field read from `row`.
pub(crate) fn reads(model: &Model<'_>, slot: impl Fn(&Ident) -> TokenStream) -> TokenStream {
    let ident = model.ident;
    let fields = model.fields.iter().enumerate().map(|(index, field)| {
        let (name, field_type) = (field.ident, field.static_type());
        let slot = slot(&base_of(index));
        let value = field.unwrapped(quote!(<#field_type as __schema::Field>::read(#slot, row)));
        quote!(#name: #value)
    });
    quote!(#ident { #(#fields),* })
}

/// The name of the constant that is field `index`'s first leaf.
pub(crate) fn base_of(index: usize) -> Ident {
    format_ident!("__BASE_{index}")
}
