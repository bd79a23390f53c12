use super::*;
use syn::parse_quote;

fn text(tokens: TokenStream) -> String {
    tokens.to_string().replace(' ', "")
}

#[test]
fn options_are_known_by_their_spelling() {
    let plain: Type = parse_quote!(u32);
    let short: Type = parse_quote!(Option<u32>);
    let long: Type = parse_quote!(::std::option::Option<u32>);
    assert!(option_inner(&plain).is_none());
    for option in [short, long] {
        let inner = option_inner(&option).expect("an option");
        assert_eq!(text(inner.to_token_stream()), "u32");
    }
}

#[test]
fn lifetimes_are_exchanged_at_any_depth() {
    let field: Type = parse_quote!(Option<(&'a str, [Thing<'_>; 3])>);
    let exchanged = with_lifetime(field.to_token_stream(), "k");
    assert_eq!(text(exchanged), "Option<(&'kstr,[Thing<'k>;3])>");
}

#[test]
fn lifetimes_are_found() {
    let borrowed: Type = parse_quote!(Option<&'static str>);
    let owned: Type = parse_quote!([u8; 4]);
    assert!(has_lifetime(borrowed.to_token_stream(), None));
    assert!(has_lifetime(borrowed.to_token_stream(), Some("static")));
    assert!(!has_lifetime(borrowed.to_token_stream(), Some("k")));
    assert!(!has_lifetime(owned.to_token_stream(), None));
}

#[test]
fn strings_are_borrowed_in_keys() {
    assert_eq!(text(part_type(&parse_quote!(String))), "&'kstr");
    assert_eq!(text(part_type(&parse_quote!(Option<String>))), "::core::option::Option<&'kstr>");
    assert_eq!(text(part_type(&parse_quote!(&'a str))), "&'kstr");
    assert_eq!(text(part_type(&parse_quote!(u64))), "u64");
}

#[test]
fn byte_arrays_are_known_by_their_spelling() {
    assert!(byte_array_len(&parse_quote!([u8; 16])).is_some());
    assert!(byte_array_len(&parse_quote!([u16; 16])).is_none());
    assert!(byte_array_len(&parse_quote!(Vec<u8>)).is_none());
}
