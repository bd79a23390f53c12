//! `#[derive(RecordStruct)]`: a struct whose fields become leaves of the record around it.
//!
//! Its places are relative: the record's layout and the struct's first leaf arrive as arguments,
//! both constants once inlined. Each field is also findable by the hash of its name, so that keys
//! of outer records can have it as a part.

use proc_macro2::TokenStream;
use quote::quote;
use syn::DeriveInput;

use crate::field_type::part_type;
use crate::leaves::{base_of, columns, constants, measures, reads, writes};
use crate::model::Model;

/// Everything that the derive adds.
pub(crate) fn expand(input: &DeriveInput) -> syn::Result<TokenStream> {
    let model = Model::parse(input)?;
    if let Some(index) = model.indexes.first() {
        return Err(syn::Error::new(index.span, "a record struct has no indexes of its own"));
    }
    let schema = &model.schema;
    let constants = constants(&model);
    let (plain_field, struct_fields) = (plain_field_impl(&model), struct_field_impls(&model));
    let (impl_generics, self_type) = (model.impl_generics(), model.self_type(quote!('a)));
    Ok(quote! {
        const _: () = {
            use #schema as __schema;
            #constants
            const __NULLABLE_SHAPES: [__schema::LeafShape; __LEAVES + 1] = {
                let mut shapes = [__schema::LeafShape::PRESENCE; __LEAVES + 1];
                __schema::LeafShape::copy_into(&__SHAPES, &mut shapes, 1);
                shapes
            };
            #plain_field
            impl #impl_generics __schema::RecordStruct for #self_type {}
            #struct_fields
        };
    })
}

fn plain_field_impl(model: &Model<'_>) -> TokenStream {
    let (impl_generics, self_type) = (model.impl_generics(), model.self_type(quote!('a)));
    let at_type = model.self_type(quote!('t));
    let (columns, measures) = (columns(model), measures(model));
    let slot = |base: &syn::Ident| quote!(slot.after(#base));
    let (writes, reads) = (writes(model, slot), reads(model, slot));
    let absents = model.fields.iter().enumerate().map(|(index, field)| {
        let (field_type, base) = (field.static_type(), base_of(index));
        quote!(<#field_type as __schema::Field>::write_absent(slot.after(#base), row);)
    });
    quote! {
        impl #impl_generics __schema::PlainField for #self_type {
            type At<'t> = #at_type;
            const SHAPES: &'static [__schema::LeafShape] = &__SHAPES;
            const NULLABLE_SHAPES: &'static [__schema::LeafShape] = &__NULLABLE_SHAPES;

            fn column_type(_: ::core::option::Option<u32>) -> __schema::ColumnType {
                __schema::ColumnType::Struct(#columns)
            }

            #[inline]
            fn measure(
                &self,
                _: ::core::option::Option<u32>,
            ) -> ::core::result::Result<usize, __schema::RowError> {
                let mut len = 0usize;
                #measures
                ::core::result::Result::Ok(len)
            }

            #[inline]
            fn write(&self, slot: __schema::FieldSlot<'_>, row: &mut __schema::RowWriter<'_>) {
                #writes
            }

            #[inline]
            fn write_absent(slot: __schema::FieldSlot<'_>, row: &mut __schema::RowWriter<'_>) {
                #(#absents)*
            }

            #[inline]
            fn read<'t>(
                slot: __schema::FieldSlot<'_>,
                row: __schema::RowBytes<'t>,
            ) -> Self::At<'t> {
                #reads
            }
        }
    }
}

fn struct_field_impls(model: &Model<'_>) -> TokenStream {
    let (impl_generics, self_type) = (model.impl_generics(), model.self_type(quote!('a)));
    let impls = model.fields.iter().map(|field| {
        let (hash, column) = (name_hash(&field.ident.to_string()), &field.column);
        let part = part_type(field.field_type);
        quote! {
            impl #impl_generics __schema::StructField<#hash> for #self_type {
                type Part<'k> = #part;
                const COLUMN: &'static str = #column;
            }
        }
    });
    quote!(#(#impls)*)
}

/// A field's number for `StructField`: FNV-1a, 64 bits (Fowler, Noll, Vo, 1991) of its name.
pub(crate) fn name_hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
