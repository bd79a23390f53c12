use super::*;

struct Thing;

impl StructField<1> for Thing {
    type Part<'k> = &'k str;
    const COLUMN: &'static str = "text";
}

impl StructField<2> for Thing {
    type Part<'k> = Option<u8>;
    const COLUMN: &'static str = "number";
}

/// Inside an `Option` every field is nullable, and none is twice.
#[test]
fn fields_of_absent_structs_are_nullable_once() {
    let text: <Option<Thing> as StructField<1>>::Part<'_> = None::<&str>;
    let number: <Option<Thing> as StructField<2>>::Part<'_> = None::<u8>;
    assert_eq!((text, number), (None, None));
    assert_eq!(<Option<Thing> as StructField<1>>::COLUMN, "text");
}
