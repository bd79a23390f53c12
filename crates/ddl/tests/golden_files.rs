//! What is generated from the samples is what is committed, and C compilers accept it.
//!
//! `REMANENT_GOLDEN=write cargo test -p remanent-ddl --test golden_files` writes the files anew.

use std::path::{Path, PathBuf};
use std::process::Command;

use remanent_ddl::{Options, Schema, Source, parse};

const SAMPLES: [&str; 6] =
    ["measure.mco", "measure.ddl", "strings.ddl", "testdb.ddl", "plant.mco", "stock.ddl"];

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

fn read(sample: &str) -> Schema {
    let bytes = std::fs::read(folder("samples").join(sample)).expect("the sample is there");
    match parse(&Source::new(sample, bytes), &Options::default()) {
        Ok((schema, _)) => schema,
        Err(errors) => panic!("{errors}"),
    }
}

fn compare(sample: &str, ending: &str, generated: &str) {
    let path = folder("golden").join(format!("{}.{ending}", sample.replace('.', "_")));
    if std::env::var_os("REMANENT_GOLDEN").is_some_and(|value| value == "write") {
        std::fs::write(&path, generated).expect("the folder can be written");
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = golden.lines().zip(generated.lines()).position(|(old, new)| old != new);
    let message = format!("{path:?} differs at line {:?}", differs.map(|line| line + 1));
    assert!(golden == generated, "{message}; REMANENT_GOLDEN=write writes it anew");
}

#[test]
fn headers_are_as_committed() {
    SAMPLES.iter().for_each(|sample| compare(sample, "h", &read(sample).to_c()));
}

#[test]
fn rust_modules_are_as_committed() {
    SAMPLES.iter().for_each(|sample| compare(sample, "rs.txt", &read(sample).to_rust()));
}

#[test]
fn sql_is_as_committed() {
    SAMPLES.iter().for_each(|sample| compare(sample, "sql", &read(sample).to_sql()));
}

#[test]
fn canonical_texts_are_as_committed() {
    SAMPLES.iter().for_each(|sample| compare(sample, "txt", &read(sample).to_text()));
}

#[test]
fn headers_compile_alone_as_c_and_as_cpp() {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../capi/include");
    if !include.join("remanent_mco.h").exists() {
        return;
    }
    for sample in SAMPLES {
        let header = folder("golden").join(format!("{}.h", sample.replace('.', "_")));
        for (compiler, standard, language) in [("gcc", "c11", "c"), ("g++", "c++17", "c++")] {
            let output = Command::new(compiler)
                .args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only"])
                .args([&format!("-std={standard}"), "-x", language, "-include"])
                .arg(&header)
                .arg("-I")
                .arg(&include)
                .arg("/dev/null")
                .output();
            let Ok(output) = output else { continue };
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{compiler} {sample}: {errors}");
        }
    }
}

/// The layout that the runtime computes is the one that the C compiler makes.
#[test]
fn c_structs_lie_as_computed() {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../capi/include");
    if !include.join("remanent_d.h").exists() {
        return;
    }
    for sample in ["measure.ddl", "strings.ddl", "testdb.ddl", "stock.ddl"] {
        let schema = read(sample);
        let mut program = schema.to_c();
        for class in &schema.classes {
            let laid = schema.c_record(class);
            let mut expect = |what: String, value: u32| {
                program.push_str(&format!("_Static_assert({what} == {value}, \"{what}\");\n"));
            };
            expect(format!("sizeof(struct {})", class.name), laid.size);
            for (number, field) in class.fields.iter().enumerate() {
                let first = laid.fields.iter().find(|leaf| leaf.field as usize == number);
                let offset = first.expect("every field has a leaf").offset;
                expect(format!("offsetof(struct {}, {})", class.name, field.name), offset);
            }
            for index in &class.indexes {
                expect(
                    format!("sizeof(struct {})", index.name),
                    schema.c_key(class, &index.parts).size,
                );
            }
        }
        let path =
            std::env::temp_dir().join(format!("remanent-ddl-{}-{sample}.c", std::process::id()));
        std::fs::write(&path, program).expect("the temporary folder can be written");
        let compiled = Command::new("gcc")
            .args(["-std=c11", "-fsyntax-only", "-I"])
            .args([include.as_path(), path.as_path()])
            .output();
        std::fs::remove_file(&path).expect("it was written");
        let Ok(output) = compiled else { return };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
