//! The key struct of an index: its parts as fields, and its encoding.
//!
//! A part that is a field of the record has the field's type. One inside a struct is found through
//! `StructField`, since this macro cannot see that struct; its type is a projection that the
//! compiler resolves. A key struct has a lifetime if a part might borrow.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::Ident;

use crate::attributes::{IndexAttribute, PartAttribute, unraw};
use crate::field_type::{has_lifetime, part_type, with_lifetime};
use crate::model::Model;
use crate::struct_impl::name_hash;

/// The struct itself, beside the record and as visible.
pub(crate) fn key_struct(model: &Model<'_>, index: &IndexAttribute) -> syn::Result<TokenStream> {
    let (visibility, ident) = (model.visibility, key_ident(model, index));
    let types = part_types(model, index)?;
    let generics = generics_of(index, &types);
    let summary = match index.primary {
        true => format!("The primary key of [`{}`].", model.ident),
        false => format!("A key of the index `{}` of [`{}`].", index.name, model.ident),
    };
    let fields = index.parts.iter().zip(&types).map(|(part, part_type)| {
        let (field, path) = (field_ident(part), dotted(part));
        let summary = format!("The key's part `{path}`.");
        quote! {
            #[doc = #summary]
            #visibility #field: #part_type
        }
    });
    Ok(quote! {
        #[doc = #summary]
        #[derive(Clone, Debug, PartialEq)]
        #visibility struct #ident #generics {
            #(#fields),*
        }
    })
}

/// The implementation of `Key`, inside the `const _` block.
pub(crate) fn key_impl(
    model: &Model<'_>,
    index: &IndexAttribute,
    ordinal: usize,
) -> syn::Result<TokenStream> {
    let ident = key_ident(model, index);
    let generics = generics_of(index, &part_types(model, index)?);
    let (record, name) = (model.self_type(quote!('static)), &index.name);
    let count = index.parts.len();
    let statements = index.parts.iter().enumerate().map(|(number, part)| {
        let (field, descending) = (field_ident(part), part.descending);
        quote_spanned! {part.path[0].span()=>
            if parts > #number {
                __schema::KeyValue::encode_part(&self.#field, #descending, out)?;
            }
        }
    });
    Ok(quote! {
        impl #generics __schema::Key for #ident #generics {
            type Record = #record;
            const INDEX: &'static str = #name;
            const INDEX_ORDINAL: usize = #ordinal;
            const PARTS: usize = #count;

            #[inline]
            fn encode_parts(
                &self,
                parts: usize,
                out: &mut __schema::KeyBuffer,
            ) -> ::core::result::Result<(), __schema::KeyError> {
                out.clear();
                if parts > #count {
                    return ::core::result::Result::Err(__schema::KeyError::TooManyParts {
                        expected: #count,
                        found: parts,
                    });
                }
                #(#statements)*
                out.check_len()?;
                ::core::result::Result::Ok(())
            }
        }
    })
}

/// An expression for the index in the schema.
pub(crate) fn index_schema(model: &Model<'_>, index: &IndexAttribute) -> syn::Result<TokenStream> {
    let (name, unique, primary) = (&index.name, index.unique, index.primary);
    let kind = if index.hash { quote!(Hash) } else { quote!(Ordered) };
    let parts = index.parts.iter().map(|part| {
        let descending = part.descending;
        let columns = column_names(model, part)?;
        Ok(quote! {
            __schema::KeyPart { column: [#(#columns),*].join("."), descending: #descending }
        })
    });
    let parts = parts.collect::<syn::Result<Vec<_>>>()?;
    Ok(quote! {
        __schema::IndexSchema {
            name: ::std::string::String::from(#name),
            parts: ::std::vec![#(#parts),*],
            unique: #unique,
            kind: __schema::IndexKind::#kind,
            primary: #primary,
        }
    })
}

/// The columns along a part's path, as expressions.
fn column_names(model: &Model<'_>, part: &PartAttribute) -> syn::Result<Vec<TokenStream>> {
    let field = model.field_of(part)?;
    let column = &field.column;
    let mut names = vec![quote!(#column)];
    let mut outer = with_lifetime(quote::ToTokens::to_token_stream(field.field_type), "static");
    for step in &part.path[1..] {
        let hash = name_hash(&step.to_string());
        names.push(quote_spanned!(step.span()=>
            <#outer as __schema::StructField<#hash>>::COLUMN
        ));
        outer = quote_spanned!(step.span()=>
            <#outer as __schema::StructField<#hash>>::Part<'static>
        );
    }
    Ok(names)
}

/// The parts' types. Outside the `const _` block, so the schema crate goes by its whole path.
fn part_types(model: &Model<'_>, index: &IndexAttribute) -> syn::Result<Vec<TokenStream>> {
    let schema = &model.schema;
    let part_type_of = |part: &PartAttribute| {
        let field = model.field_of(part)?;
        let Some(nested) = part.path.get(1..).filter(|nested| !nested.is_empty()) else {
            return Ok(part_type(field.field_type));
        };
        let first = with_lifetime(quote::ToTokens::to_token_stream(field.field_type), "k");
        Ok(nested.iter().fold(first, |outer, step| {
            let hash = name_hash(&step.to_string());
            quote_spanned!(step.span()=> <#outer as #schema::StructField<#hash>>::Part<'k>)
        }))
    };
    index.parts.iter().map(part_type_of).collect()
}

/// `<'k>` if a part's type has a lifetime; what is inside a struct always might.
fn generics_of(index: &IndexAttribute, types: &[TokenStream]) -> TokenStream {
    let nested = index.parts.iter().any(|part| part.path.len() > 1);
    let borrows = nested || types.iter().any(|part_type| has_lifetime(part_type.clone(), None));
    if borrows { quote!(<'k>) } else { TokenStream::new() }
}

/// The record's name and the index's, in one camel-case word.
fn key_ident(model: &Model<'_>, index: &IndexAttribute) -> Ident {
    let words = index.name.split('_').filter(|word| !word.is_empty());
    let camel: String = words
        .map(|word| {
            let mut letters = word.chars();
            let first = letters.next().map(char::to_uppercase);
            first.into_iter().flatten().chain(letters).collect::<String>()
        })
        .collect();
    format_ident!("{}{}", model.ident, camel, span = model.ident.span())
}

/// The key's field for a part: `thing_a`.
fn field_ident(part: &PartAttribute) -> Ident {
    match part.path.as_slice() {
        [only] => only.clone(),
        path => {
            let name = path.iter().map(unraw).collect::<Vec<_>>().join("_");
            Ident::new(&name, path[0].span())
        }
    }
}

fn dotted(part: &PartAttribute) -> String {
    part.path.iter().map(unraw).collect::<Vec<_>>().join(".")
}
