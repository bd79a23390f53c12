//! What is printed parses to the same schema: for the samples, and for random schemas.

use proptest::prelude::*;
use remanent_ddl::{Options, Schema, Source, parse};
use remanent_schema::RowLayout;

const SAMPLES: [(&str, &str); 6] = [
    ("measure.mco", include_str!("samples/measure.mco")),
    ("measure.ddl", include_str!("samples/measure.ddl")),
    ("strings.ddl", include_str!("samples/strings.ddl")),
    ("testdb.ddl", include_str!("samples/testdb.ddl")),
    ("plant.mco", include_str!("samples/plant.mco")),
    ("stock.ddl", include_str!("samples/stock.ddl")),
];

fn read(name: &str, text: &str) -> Schema {
    match parse(&Source::new(name, text), &Options::default()) {
        Ok((schema, _)) => schema,
        Err(errors) => panic!("{errors}"),
    }
}

#[test]
fn samples_are_accepted_and_print_to_themselves() {
    for (name, text) in SAMPLES {
        let schema = read(name, text);
        let printed = schema.to_text();
        let again = read(name, &printed);
        assert_eq!(again, schema, "{printed}");
        assert_eq!(again.to_text(), printed);
    }
}

/// A field of a random class: type, and whether it can be a key.
const MCO_TYPES: [(&str, bool); 16] = [
    ("signed<1>", true),
    ("unsigned<8>", true),
    ("float", true),
    ("double", true),
    ("bool", true),
    ("decimal<20,3>", true),
    ("char<12>", true),
    ("wchar<5>", true),
    ("string", true),
    ("binary<4>", true),
    ("varbinary<40>", true),
    ("blob", false),
    ("datetime", true),
    ("vector<unsigned<2>>", false),
    ("vector<string>", false),
    ("Inner", false),
];

const D_TYPES: [(&str, bool); 12] = [
    ("char", true),
    ("unsigned char", true),
    ("short", true),
    ("unsigned long", true),
    ("int64_t", true),
    ("float", true),
    ("db_addr", true),
    ("struct inner", false),
    ("inner_t", false),
    ("struct { short p; char q[3]; }", false),
    ("wchar_t", true),
    ("uint8_t", true),
];

prop_compose! {
    fn classes(types: usize)(
        classes in prop::collection::vec(
            prop::collection::vec((0..types, any::<bool>(), any::<bool>(), 0..4u32), 1..12),
            1..6,
        ),
    ) -> Vec<Vec<(usize, bool, bool, u32)>> {
        classes
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..Default::default()
    })]

    #[test]
    fn random_classes(classes in classes(MCO_TYPES.len())) {
        let mut text = "declare database x[5];\nstruct Inner { float a; string b; };\n".to_owned();
        for (number, fields) in classes.iter().enumerate() {
            text.push_str(&format!("class C{number} {{\n"));
            let mut indexes = String::new();
            for (place, (which, nullable, indexed, kind)) in fields.iter().enumerate() {
                let (name, is_key) = MCO_TYPES[*which];
                let nullable = if *nullable { "nullable " } else { "" };
                text.push_str(&format!("{nullable}{name} f{place};\n"));
                let word = ["tree", "unique tree", "hash", "nonunique hash"][*kind as usize];
                if *indexed && is_key {
                    indexes.push_str(&format!("{word}<f{place}> i{place}[10];\n"));
                }
            }
            text.push_str(&format!("{indexes}list;\n}};\n"));
        }
        check("x.mco", &text);
    }

    #[test]
    fn random_records(classes in classes(D_TYPES.len())) {
        let mut text = "struct inner { long a; char b[3]; };\ntypedef struct inner inner_t;\n\
                        database x {\n".to_owned();
        for (number, fields) in classes.iter().enumerate() {
            text.push_str(&format!("record r{number} {{\n"));
            let mut parts = String::new();
            for (place, (which, is_array, indexed, kind)) in fields.iter().enumerate() {
                let (name, is_key) = D_TYPES[*which];
                let dims = if *is_array { "[2][3]" } else { "" };
                let key = ["key ", "unique key ", "hash[9] ", "optional key "][*kind as usize];
                let key = if *indexed && is_key && !is_array { key } else { "" };
                text.push_str(&format!("{key}{name} f{place}{dims};\n"));
                if is_key && !is_array {
                    parts.push_str(&format!("f{place} descending;"));
                }
            }
            if !parts.is_empty() {
                text.push_str(&format!("compound unique key k {{ {parts} }}\n"));
            }
            text.push_str("}\n");
        }
        text.push_str("set s { order next; owner system; member r0; } }");
        check("x.ddl", &text);
    }
}

/// Prints and parses again; and leaves count as the row's layout counts.
fn check(name: &str, text: &str) {
    let schema = read(name, text);
    let printed = schema.to_text();
    assert_eq!(read(name, &printed), schema, "{printed}");
    for class in &schema.classes {
        let layout = RowLayout::new(&class.table);
        for field in &class.fields {
            let (first, last) = (field.leaf, field.leaf + field.leaf_count - 1);
            for leaf in [first, last] {
                let path = &layout.leaves()[leaf as usize].path;
                assert_eq!(path.split('.').next(), Some(&*field.name));
            }
        }
        for index in &class.indexes {
            assert_eq!(class.table.indexes[index.ordinal as usize].name, &*index.name);
        }
    }
}
