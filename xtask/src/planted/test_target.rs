//! A check that is an integration test: `test remanent-sql explain`, and a filter if need be.
//!
//! It is built in the copy, in a folder of its own that is kept, so that from one bug to the next
//! only what the bug changes is compiled. What stands on DataFusion is built with the whole
//! workspace, as `xtask/all-tests.sh` does: another choice of packages would need the crates below
//! with other features, and build all of them anew.

use std::error::Error;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::check::{Verdict, run_for};
use super::copy::Copy;
use super::foreign;

/// The packages that stand on DataFusion.
const ON_DATAFUSION: [&str; 6] = [
    "remanent-join-order",
    "remanent-sql",
    "remanent-workers",
    "remanent-server",
    "remanent-shell",
    "remanent-cli",
];
/// What is built together.
const TOGETHER: [&str; 3] = ["--workspace", "--features", "remanent-capi/replication"];
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
    let is_together = ON_DATAFUSION.contains(&target.package);
    let folder = copy.build.join(if is_together { "tests-sql" } else { "tests" });
    foreign::take_over(&copy.target().join("debug"), &folder.join("debug"))?;
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
    // Continuous integration turns it off for all builds, and lints what it builds.
    cargo.env("CARGO_INCREMENTAL", "1").env_remove("RUSTC_WORKSPACE_WRAPPER");
    match ON_DATAFUSION.contains(&target.package) {
        true => cargo.args(TOGETHER),
        false => cargo.args(["--package", target.package]),
    };
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

#[cfg(test)]
mod tests;
