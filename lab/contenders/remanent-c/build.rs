//! Makes the headers of the schemas and compiles the C programs against them.
//!
//! A header lies in the build's own folder under the name of its schema, `sensors_mco.h` of
//! `schema/sensors_mco.mco`: it is always the one that the generator of this checkout writes. The
//! compiler is told what an application would tell it: `-O2` and all warnings.

use std::path::{Path, PathBuf};
use std::{env, fs};

use remanent_ddl::{Options, Source};

const SCHEMAS: &[&str] =
    &["sensors_mco.mco", "sensors_d.ddl", "strings_d.ddl", "sets_d.ddl", "readers_d.ddl"];
/// Schemas of which another one is made, as `NAME_kept.h`: of a database on the disk.
const KEPT: &[(&str, &str, &str)] = &[
    ("sensors_d.ddl", "database mcs [8192] inmemory", "database mcs_kept [8192]"),
    ("readers_d.ddl", "database lab_readers inmemory", "database lab_readers_kept"),
];
const PROGRAMS: &[&str] = &[
    "native.c",
    "mco.c",
    "d.c",
    "d_kept.c",
    "d_strings.c",
    "d_sets.c",
    "d_readers.c",
    "d_readers_kept.c",
];
/// The headers that programs in C include.
const INCLUDE: &str = "../../../crates/capi/include";

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    for name in SCHEMAS {
        let path = Path::new("schema").join(name);
        let text = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        write_header(name, text.clone(), &out.join(path.file_stem().expect("a name")));
        for (_, inmemory, kept) in KEPT.iter().filter(|(of, ..)| of == name) {
            let text = String::from_utf8(text.clone()).expect("schemas are text");
            assert!(text.contains(inmemory), "{name} has changed");
            let stem = path.file_stem().expect("a name").to_string_lossy();
            let text = text.replace(inmemory, kept).into_bytes();
            write_header(name, text, &out.join(format!("{stem}_kept")));
        }
    }
    let mut build = cc::Build::new();
    build.files(PROGRAMS.iter().map(|name| Path::new("c").join(name)));
    build.include(&out).include(INCLUDE).std("c11").opt_level(2).extra_warnings(true);
    build.compile("lab_remanent_c_programs");
    for watched in ["build.rs", "schema", "c", INCLUDE] {
        println!("cargo::rerun-if-changed={watched}");
    }
}

/// Writes the header of a schema.
fn write_header(name: &str, text: Vec<u8>, path: &Path) {
    let parsed = remanent_ddl::parse(&Source::new(name, text), &Options::default());
    let (schema, _) = parsed.unwrap_or_else(|errors| panic!("{errors}"));
    fs::write(path.with_extension("h"), schema.to_c()).expect("the build's folder can be written");
}
