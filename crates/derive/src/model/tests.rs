//! What is refused, and in which words.

use syn::parse_quote;

use crate::{record_impl, struct_impl};

fn refusal(input: syn::DeriveInput) -> String {
    record_impl::expand(&input).expect_err("it is refused").to_string()
}

#[test]
fn only_structs_with_named_fields_and_one_lifetime() {
    let lifetimes = parse_quote! { struct R<'a, 'b> { a: &'a str, b: &'b str } };
    assert_eq!(refusal(lifetimes), "a record has at most one lifetime");
    let generic = parse_quote! { struct R<T> { a: T } };
    assert_eq!(refusal(generic), "a record has no type or const parameters");
    let tuple = parse_quote! { struct R(u32); };
    assert_eq!(refusal(tuple), "a record has named fields");
    let empty = parse_quote! { struct R {} };
    assert_eq!(refusal(empty), "a record has named fields");
    let choice = parse_quote! { enum R { A } };
    assert_eq!(refusal(choice), "a record is a struct");
    let eternal = parse_quote! { struct R { a: &'static str } };
    assert!(refusal(eternal).contains("not `'static`"));
}

#[test]
fn key_parts_are_fields_that_can_be_keys() {
    let unknown = parse_quote! { #[record(primary_key(b))] struct R { a: u32 } };
    assert_eq!(refusal(unknown), "`R` has no field `b`");
    let nullable = parse_quote! { #[record(primary_key(a))] struct R { a: Option<u32> } };
    assert_eq!(refusal(nullable), "a part of the primary key cannot be an `Option`");
    let array = parse_quote! { #[record(index(i(a)))] struct R { a: [u8; 4] } };
    assert!(refusal(array).contains("#[record(binary)]"));
    let empty = parse_quote! { #[record(index(i()))] struct R { a: u32 } };
    assert_eq!(refusal(empty), "a key has at least one part");
    let direction = parse_quote! { #[record(index(i(a down)))] struct R { a: u32 } };
    assert_eq!(refusal(direction), "expected asc, desc or `,`");
}

#[test]
fn names_are_given_once() {
    let twice = parse_quote! { #[record(index(i(a)), hash_index(i(a)))] struct R { a: u32 } };
    assert_eq!(refusal(twice), "there is an index named `i` already");
    let reserved = parse_quote! { #[record(index(primary(a)))] struct R { a: u32 } };
    assert_eq!(refusal(reserved), "there is an index named `primary` already");
    let keys = parse_quote! { #[record(primary_key(a), primary_key(a))] struct R { a: u32 } };
    assert_eq!(refusal(keys), "there is a primary key already");
    let columns = parse_quote! { struct R { a: u32, #[record(name = "a")] b: u32 } };
    assert_eq!(refusal(columns), "there is a column named `a` already");
    let names = parse_quote! { #[record(name = "A", name = "B")] struct R { a: u32 } };
    assert_eq!(refusal(names), "`name` is given twice");
}

#[test]
fn unknown_words_are_answered_with_known_ones() {
    let on_struct = parse_quote! { #[record(indexes(i(a)))] struct R { a: u32 } };
    assert!(refusal(on_struct).starts_with("expected name, primary_key, index"));
    let elsewhere = parse_quote! { #[record(storage = tape)] struct R { a: u32 } };
    assert_eq!(refusal(elsewhere), "expected memory or paged");
    let on_field = parse_quote! { struct R { #[record(nullable)] a: u32 } };
    assert_eq!(refusal(on_field), "expected name, default, max or binary");
    let binary = parse_quote! { struct R { #[record(binary)] a: u32 } };
    assert_eq!(refusal(binary), "only `[u8; N]` can be binary");
}

#[test]
fn record_structs_have_no_indexes() {
    let input = parse_quote! { #[record(index(i(a)))] struct S { a: u32 } };
    let refused = struct_impl::expand(&input).expect_err("it is refused").to_string();
    assert_eq!(refused, "a record struct has no indexes of its own");
}

#[test]
fn the_crate_can_be_named() {
    let input = parse_quote! { #[record(crate = "my::schema")] struct R { a: u32 } };
    let expanded = record_impl::expand(&input).expect("it expands").to_string();
    assert!(expanded.contains("use my :: schema as __schema"));
}
