//! A check that is an integration test: `test remanent-sql explain`, and a filter if need be.
//!
//! It is built in the copy, in a folder of its own that is kept, so that from one bug to the next
//! only what the bug changes is compiled. Packages that stand on DataFusion are always built
//! together, as `xtask/sql-tests.sh` does: another choice of packages would need the crates below
//! with other features, and build all of them anew. What the workspace itself has built of foreign
//! crates is taken over; of our own crates nothing is, since cargo knows them by their place in
//! the workspace, and would take what was built of one for that of the other.

use std::error::Error;
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::check::{Verdict, run_for};
use super::copy::Copy;

/// Those that are built together.
pub(super) const TOGETHER: [&str; 7] = [
    "remanent-join-order",
    "remanent-sql",
    "remanent-workers",
    "remanent-server",
    "remanent-shell",
    "remanent-cli",
    "lab*",
];
/// A test that has not ended by then hangs.
const TIME_MAX: Duration = Duration::from_secs(300);

/// The words of such a check.
struct Target<'w> {
    package: &'w str,
    test: &'w str,
    filter: Option<&'w str>,
}

impl<'w> Target<'w> {
    fn of(words: &'w str) -> Result<Self, String> {
        match words.split(' ').collect::<Vec<_>>()[..] {
            [package, test] => Ok(Self { package, test, filter: None }),
            [package, test, filter] => Ok(Self { package, test, filter: Some(filter) }),
            _ => Err(format!("a test is a package, a target and maybe a filter, not `{words}`")),
        }
    }
}

/// Builds the test and runs it.
///
/// # Errors
///
/// When it does not compile, or there is no such test, or there are several.
pub(super) fn run(copy: &Copy, words: &str) -> Result<Verdict, Box<dyn Error>> {
    let target = Target::of(words)?;
    // Apart, since what there is of foreign crates is taken over but once.
    let is_together = TOGETHER.contains(&target.package);
    let folder = copy.build.join(if is_together { "tests-sql" } else { "tests" });
    take_over(copy, &folder)?;
    let output = copy.build.join("output");
    let mut cargo = build(copy, &folder, &target);
    let built = cargo.stdin(Stdio::null()).stderr(File::create(&output)?).status()?;
    let text = String::from_utf8_lossy(&std::fs::read(&output)?).into_owned();
    if !built.success() {
        return Err(format!("it does not compile:\n{text}").into());
    }
    let place = package_folder(&copy.workspace, target.package)
        .ok_or_else(|| format!("there is no package `{}`", target.package))?;
    let program =
        program(&text).ok_or_else(|| format!("not one program but several, or none:\n{text}"))?;
    let mut test = Command::new(program);
    test.args(target.filter).current_dir(&place).env("CARGO_MANIFEST_DIR", &place);
    let file = File::create(&output)?;
    test.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
    let status = run_for(&mut test, TIME_MAX)?;
    let text = String::from_utf8_lossy(&std::fs::read(&output)?).into_owned();
    Ok(match status {
        Some(status) if status.success() && text.contains("\nrunning 0 tests\n") => {
            return Err(format!("no test of `{words}` has such a name").into());
        }
        Some(status) if status.success() => Verdict::Passed,
        Some(_) => Verdict::Found { after: failed(&text), needed: None },
        None => Verdict::Found { after: "does not end".to_owned(), needed: None },
    })
}

fn build(copy: &Copy, folder: &Path, target: &Target<'_>) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(&copy.workspace).env("CARGO_TARGET_DIR", folder).arg("test");
    // Continuous integration turns it off for all builds.
    cargo.env("CARGO_INCREMENTAL", "1");
    let own = [target.package];
    let packages = if TOGETHER.contains(&target.package) { &TOGETHER[..] } else { &own[..] };
    for package in packages {
        cargo.args(["--package", package]);
    }
    cargo.args(["--test", target.test, "--no-run"]);
    cargo
}

/// The program that cargo says it has built.
fn program(text: &str) -> Option<PathBuf> {
    let mut lines = text.lines().filter_map(|line| line.trim().strip_prefix("Executable "));
    let (line, others) = (lines.next()?, lines.next());
    let path = line.split_once('(')?.1.strip_suffix(')')?;
    others.is_none().then(|| PathBuf::from(path))
}

/// The first test that failed, by its name.
fn failed(text: &str) -> String {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("test "));
    let name = lines.find_map(|line| line.strip_suffix(" ... FAILED"));
    name.map_or_else(|| "fails".to_owned(), |name| format!("`{name}`"))
}

/// The folder of a package in a workspace.
fn package_folder(workspace: &Path, package: &str) -> Option<PathBuf> {
    let line = format!("name = \"{package}\"");
    let is_it = |folder: &Path| {
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml"));
        manifest.is_ok_and(|text| text.lines().any(|own| own == line))
    };
    let above = ["crates", "lab", "lab/contenders", "."].map(|folder| workspace.join(folder));
    let folders = above.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
    folders.filter_map(|entry| Some(entry.ok()?.path())).find(|folder| is_it(folder))
}

/// Takes over the foreign crates that the workspace has built, if nothing was built here yet.
fn take_over(copy: &Copy, folder: &Path) -> Result<(), Box<dyn Error>> {
    let to = folder.join("debug");
    let from = match std::env::var_os("CARGO_TARGET_DIR") {
        Some(target) => copy.root.join(target),
        None => copy.root.join("target"),
    };
    let from = from.join("debug");
    if to.exists() || !from.join(".fingerprint").exists() {
        return Ok(());
    }
    for part in ["deps", "build", ".fingerprint"] {
        let is_linked = part != ".fingerprint";
        std::fs::create_dir_all(to.join(part))?;
        let entries = std::fs::read_dir(from.join(part))?.filter_map(Result::ok);
        let names = entries.map(|entry| entry.path());
        let names: Vec<PathBuf> = names.filter(|path| is_foreign(path, part == "deps")).collect();
        for names in names.chunks(500) {
            let mut cp = Command::new("cp");
            cp.arg("-a").args(is_linked.then_some("-l")).args(names).arg(to.join(part));
            crate::process::run(&mut cp)?;
        }
    }
    Ok(())
}

/// Whether what was built is that of a foreign crate: of libraries only, where it is one of them.
fn is_foreign(path: &Path, is_library: bool) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let is_ours = ["remanent", "lab", "xtask"].iter().any(|ours| {
        let name = if is_library { name.strip_prefix("lib").unwrap_or(name) } else { name };
        let rest = name.strip_prefix(ours);
        rest.is_some_and(|rest| rest.starts_with(['-', '_']))
    });
    let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    !is_ours && (!is_library || matches!(extension, "rlib" | "rmeta" | "so"))
}

#[cfg(test)]
mod tests;
