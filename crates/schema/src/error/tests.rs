use super::*;

#[test]
fn nested_errors_gather_the_path_from_inside_out() {
    let error = Fault::OutOfRange.at("", &"U8");
    let error = error.within("c").within("b").within("a");
    assert_eq!(error, RowError::ValueOutOfRange { column: "a.b.c".into() });
    assert_eq!(error.column(), Some("a.b.c"));
    let whole_row = RowError::RowTooLong { len: 5 };
    assert_eq!(whole_row.clone().within("a"), whole_row);
}

#[test]
fn messages_name_the_column_and_both_types() {
    let error = Fault::WrongType { found: "String" }.at("thing.a", &"U32");
    assert_eq!(error.to_string(), "column thing.a is U32 and does not accept String");
    let error = KeyError::WrongKeyShape { part: 0, found: "Bool" };
    assert_eq!(error.to_string(), "key part 1 does not accept this Bool");
}

#[test]
fn errors_are_small() {
    assert!(size_of::<RowError>() <= 64);
    assert!(size_of::<KeyError>() <= 32);
}
