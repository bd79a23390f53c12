//! Every script in `tests/shell`: what the shell says to it, answers and errors as they come.
//!
//! A script `NAME.sql` has its answers in `NAME.out`. With `REMANENT_WRITE_GOLDEN` set, those files
//! are written instead of compared; what has changed is then for the eye to judge.

use std::cell::RefCell;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use remanent_shell::{Input, Options, Streams, run};
use remanent_sql::SqlDatabase;

/// Both streams in one, in the order in which they are written.
#[derive(Clone, Default)]
struct Both(Rc<RefCell<Vec<u8>>>);

impl Write for Both {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn said(script: &Path) -> String {
    let both = Both::default();
    let inputs = vec![Input::File(script.to_owned())];
    let options = Options { inputs, keep_going: true, ..Options::default() };
    let database = SqlDatabase::in_memory().expect("a database in memory opens");
    let end = run(database, &options, Streams::new(both.clone(), both.clone())).expect("it runs");
    let text = String::from_utf8(both.0.take()).expect("it is text");
    // Errors name the script by the path that it was found by.
    let shown = format!("{}:", script.display());
    format!("{}ended: {end:?}\n", text.replace(&shown, "script:"))
}

#[test]
fn all_scripts_get_their_answers() {
    // What scripts write goes to a folder of the test's own.
    let folder = tempfile::tempdir().expect("a folder");
    let scripts = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/shell");
    let scripts = scripts.canonicalize().expect("the scripts are there");
    std::env::set_current_dir(folder.path()).expect("it is there");
    let entries = std::fs::read_dir(&scripts).expect("the scripts are there");
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "sql"));
    files.sort();
    assert!(files.len() >= 5, "only {} scripts were found", files.len());
    let mut failures = Vec::new();
    for script in files {
        let answers = script.with_extension("out");
        let said = said(&script);
        if std::env::var_os("REMANENT_WRITE_GOLDEN").is_some() {
            std::fs::write(&answers, said).expect("it can be written");
            continue;
        }
        let expected = std::fs::read_to_string(&answers).unwrap_or_default();
        if said != expected {
            let name = script.display();
            failures.push(format!("{name}\n--- expected\n{expected}--- said\n{said}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
