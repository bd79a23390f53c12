//! `#[derive(Record)]`: the record's own implementation, and one key for each index.
//!
//! The layout is a constant, so each field's reads and writes compile to fixed offsets. Reading
//! asserts the fixed part's length once, which spares the bounds check of every field.

use proc_macro2::TokenStream;
use quote::quote;
use syn::DeriveInput;

use crate::key_impl::{index_schema, key_impl, key_struct};
use crate::leaves::{columns, constants, measures, reads, writes};
use crate::model::Model;

/// Everything that the derive adds.
pub(crate) fn expand(input: &DeriveInput) -> syn::Result<TokenStream> {
    let model = Model::parse(input)?;
    let mut key_structs = TokenStream::new();
    let mut key_impls = TokenStream::new();
    for (ordinal, index) in model.indexes.iter().enumerate() {
        key_structs.extend(key_struct(&model, index)?);
        key_impls.extend(key_impl(&model, index, ordinal)?);
    }
    let schema = &model.schema;
    let constants = constants(&model);
    let record = record_impl(&model)?;
    Ok(quote! {
        #key_structs
        const _: () = {
            use #schema as __schema;
            #constants
            const __LAYOUT: &__schema::FixedLayout<__LEAVES> = &__schema::fixed_layout(&__SHAPES);
            const __SLOTS: &__schema::Slots<'static> = &__LAYOUT.slots();
            #record
            #key_impls
        };
    })
}

fn record_impl(model: &Model<'_>) -> syn::Result<TokenStream> {
    let (impl_generics, self_type) = (model.impl_generics(), model.self_type(quote!('a)));
    let at_type = model.self_type(quote!('t));
    let (name, columns, measures) = (&model.name, columns(model), measures(model));
    let slot = |base: &syn::Ident| quote!(__schema::FieldSlot { slots: __SLOTS, leaf: #base });
    let (writes, reads) = (writes(model, slot), reads(model, slot));
    let storage = if model.is_paged { quote!(Paged) } else { quote!(Memory) };
    let indexes = model
        .indexes
        .iter()
        .map(|index| index_schema(model, index))
        .collect::<syn::Result<Vec<_>>>()?;
    Ok(quote! {
        impl #impl_generics __schema::Record for #self_type {
            type At<'t> = #at_type;
            const FIXED_SIZE: usize = __LAYOUT.fixed_size as usize;

            fn schema() -> __schema::TableSchema {
                __schema::TableSchema {
                    name: ::std::string::String::from(#name),
                    columns: #columns,
                    indexes: ::std::vec![#(#indexes),*],
                    set: ::core::option::Option::None,
                    storage: __schema::TableStorage::#storage,
                }
            }

            #[inline]
            fn encoded_len(&self) -> ::core::result::Result<usize, __schema::RowError> {
                let mut len = <Self as __schema::Record>::FIXED_SIZE;
                #measures
                if len > __schema::ROW_LEN_MAX {
                    return ::core::result::Result::Err(__schema::RowError::RowTooLong { len });
                }
                ::core::result::Result::Ok(len)
            }

            #[inline]
            fn encode(&self, out: &mut [u8]) {
                let row = &mut __schema::RowWriter::new(out, __SLOTS);
                #writes
            }

            #[inline]
            fn decode<'t>(row: __schema::RowBytes<'t>) -> #at_type {
                ::core::assert!(
                    row.len() >= __LAYOUT.fixed_size as usize,
                    "the row is not of this layout"
                );
                #reads
            }
        }
    })
}
