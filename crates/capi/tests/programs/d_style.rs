//! d_-style programs in C and C++, against the header that is generated of their schema.
//!
//! Those in C are compiled and run once more with gcc's checks of addresses and undefined
//! behaviour. Each runs in a folder of its own, where its database is.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::build::{compiler, generate, here, link, scratch, succeed};

const CHECKED: &[&str] = &["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"];

/// An empty folder with the header of a schema.
fn folder(name: &str, schema: &str) -> PathBuf {
    let folder = scratch().join("d").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    generate(&here().join("tests/schema").join(schema), &folder.join("ring.h"));
    folder
}

/// Compiles a program in a folder, where it lies then.
fn compile(source: &str, flags: &[&str], folder: &Path) -> PathBuf {
    let program = folder.join("program");
    let mut build = compiler(source, folder);
    build.args(flags).arg(here().join("tests/c").join(source));
    link(&mut build, &program);
    program
}

/// Compiles a program in a folder and runs it in another one.
fn compile_and_run(source: &str, flags: &[&str], folder: &Path, run: &Path) {
    let program = compile(source, flags, folder);
    // The search for leaks traces the process, which containers often refuse.
    succeed(Command::new(program).current_dir(run).env("ASAN_OPTIONS", "detect_leaks=0"));
}

#[test]
fn currency_follows_each_call_and_every_status_is_met() {
    for (name, flags) in [("ring", &[][..]), ("ring-checked", CHECKED)] {
        let folder = folder(name, "ring.ddl");
        compile_and_run("d_ring.c", flags, &folder, &folder);
    }
}

#[test]
fn tasks_threads_and_processes_share_a_database() {
    for (name, flags) in [("together", &[][..]), ("together-checked", CHECKED)] {
        let folder = folder(name, "ring.ddl");
        compile_and_run("d_together.c", flags, &folder, &folder);
    }
}

/// Kills a program that writes, again and again, after so many acknowledgements and a moment more:
/// whatever was acknowledged is there, and nothing in part. `REMANENT_KILLS` says how often.
#[test]
fn what_was_acknowledged_outlives_the_program() {
    let kills = std::env::var("REMANENT_KILLS").ok().and_then(|text| text.parse().ok());
    let folder = folder("killed", "ring.ddl");
    let program = compile("d_killed.c", &[], &folder);
    let command = |word: &str, number: i64| {
        let mut command = Command::new(&program);
        command.current_dir(&folder).args([word, &number.to_string()]);
        command
    };
    let (mut last, mut random) = (0_i64, 0x2545_f491_4f6c_dd1d_u64);
    let mut drawn = |below: u64| {
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (random >> 33) % below
    };
    for round in 0..kills.unwrap_or(12) {
        let mut writer = command("write", last + 1);
        let mut writer = writer.stdout(Stdio::piped()).spawn().expect("it starts");
        let mut lines = BufReader::new(writer.stdout.take().expect("it is piped")).lines();
        for _ in 0..drawn(30) {
            let line = lines.next().expect("it writes on").expect("it can be read");
            last = line.parse().expect("a number");
        }
        std::thread::sleep(Duration::from_micros(drawn(3000)));
        writer.kill().expect("it still runs");
        writer.wait().expect("it has ended");
        for line in lines.map_while(Result::ok) {
            last = line.parse().unwrap_or(last);
        }
        let checked = command("check", last).output().expect("it starts");
        let complaint = String::from_utf8_lossy(&checked.stderr);
        assert!(checked.status.success(), "round {round}, up to {last}: {complaint}");
        let found = String::from_utf8_lossy(&checked.stdout);
        last = found.trim().parse().expect("a number");
    }
    assert!(last > 0);
}

#[test]
fn a_program_with_another_schema_is_refused() {
    let (saved, changed) = (folder("saved", "ring.ddl"), folder("changed", "ring_changed.ddl"));
    compile_and_run("d_saved.cpp", &[], &saved, &saved);
    compile_and_run("d_changed.c", &[], &changed, &saved);
}

#[test]
fn generated_headers_compile_alone_in_c_and_cpp() {
    let folder = folder("alone", "ring.ddl");
    for language in ["c", "cpp"] {
        for header in [folder.join("ring.h"), here().join("include/remanent_d.h")] {
            let mut check = compiler(language, &folder);
            check.args(["-fsyntax-only", "-x", if language == "c" { "c" } else { "c++" }]);
            succeed(check.arg(header));
        }
    }
}
