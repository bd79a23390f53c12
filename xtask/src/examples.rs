//! `cargo xtask examples [FLAGS] [NAME..]`: the programs of `examples/c`, built and run as users do
//! it: against what `cargo xtask install` puts down, and nothing else.
//!
//! Without flags they are compiled with all warnings as errors, those in C also as C++, and run
//! whole; then `build.sh` and the CMake project build them once more. `--sanitize` has gcc check
//! addresses and undefined behaviour on the side of C, `--valgrind` checks both sides; these run
//! with smaller counts. With `--quick` all do, and the libraries are those of `cargo xtask install
//! --quick-build`. Everything is written below `target/examples-run`.

mod example;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::outcome::Outcome;
use crate::part::Part;
use crate::{install, process};
use example::{Example, Mode};

/// Where the programs are, and beside them `build.sh` and the CMake project.
const FOLDER: &str = "examples/c";
const SCRATCH: &str = "target/examples-run";
const FLAGS: &str = "--sanitize, --valgrind and --quick";

/// What was asked for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wish {
    sanitize: bool,
    valgrind: bool,
    quick: bool,
    names: Vec<String>,
}

pub(crate) fn run(root: &Path, arguments: &[String]) -> Outcome {
    let wish = wish(arguments)?;
    let all = example::all(&root.join(FOLDER))?;
    let examples = chosen(&all, &wish.names)?;
    let scratch = root.join(SCRATCH);
    needs("gcc")?;
    needs("g++")?;
    let prefix = scratch.join("prefix");
    let quick = wish.quick.then(|| "--quick-build".to_owned());
    install::run(root, &[text_of(&prefix)?].into_iter().chain(quick).collect::<Vec<_>>())?;
    let modes = modes(&wish);
    for example in &examples {
        for mode in &modes {
            build_and_run(example, *mode, wish.quick, &prefix, &scratch)?;
        }
    }
    if modes == [Mode::Plain] {
        run_script(root, &examples, &prefix, &scratch)?;
        if wish.names.is_empty() {
            run_cmake(root, &prefix, &scratch)?;
        }
    }
    let ways = modes.iter().map(|mode| mode.name()).collect::<Vec<_>>().join(" and ");
    println!("examples: {} ran {ways}", examples.len());
    Ok(())
}

/// All of them, quickly built, with smaller counts.
pub(crate) fn run_quick(root: &Path, _: &[String]) -> Outcome {
    run(root, &["--quick".to_owned()])
}

/// What gcc's sanitizers check in one run and valgrind in the next.
pub(crate) fn run_checked_part(root: &Path, part: Part) -> Outcome {
    let checks: &[&str] = match part {
        Part::All => &["--sanitize", "--valgrind", "--quick"],
        Part::Tenth(tenth) if tenth % 2 == 0 => &["--sanitize", "--quick"],
        Part::Tenth(_) => &["--valgrind", "--quick"],
    };
    println!("examples: {}", checks.join(" "));
    run(root, &checks.iter().map(|&check| check.to_owned()).collect::<Vec<_>>())
}

fn wish(arguments: &[String]) -> Result<Wish, String> {
    let mut wish = Wish::default();
    for argument in arguments {
        match argument.as_str() {
            "--sanitize" => wish.sanitize = true,
            "--valgrind" => wish.valgrind = true,
            "--quick" => wish.quick = true,
            flag if flag.starts_with('-') => {
                return Err(format!("there is no flag `{flag}`; {FLAGS} are"));
            }
            name => wish.names.push(name.to_owned()),
        }
    }
    Ok(wish)
}

fn modes(wish: &Wish) -> Vec<Mode> {
    let asked = [(wish.sanitize, Mode::Sanitize), (wish.valgrind, Mode::Valgrind)];
    let modes: Vec<_> = asked.into_iter().filter_map(|(is, mode)| is.then_some(mode)).collect();
    if modes.is_empty() { vec![Mode::Plain] } else { modes }
}

fn chosen<'a>(all: &'a [Example], names: &[String]) -> Result<Vec<&'a Example>, String> {
    let is_known = |name: &&String| all.iter().any(|example| example.name == **name);
    if let Some(name) = names.iter().find(|name| !is_known(name)) {
        return Err(format!("there is no example `{name}` in {FOLDER}"));
    }
    let is_chosen = |example: &&Example| names.is_empty() || names.contains(&example.name);
    Ok(all.iter().filter(is_chosen).collect())
}

/// Compiles an example in a folder that was empty, and runs it there.
fn build_and_run(
    example: &Example,
    mode: Mode,
    quick: bool,
    prefix: &Path,
    scratch: &Path,
) -> Outcome {
    let folder = empty_folder(scratch, &example.name)?;
    println!("examples: {} {}", example.name, mode.name());
    if let Some(schema) = &example.schema {
        let mut ddl = Command::new(prefix.join("bin/remanent"));
        process::run(ddl.args(["ddl", "c"]).arg(schema).arg("-o").arg(&folder))?;
    }
    if mode == Mode::Plain && !example.is_cpp {
        process::run(&mut example.check_as_cpp(&folder, prefix))?;
    }
    process::run(&mut example.compile(mode, &folder, prefix))?;
    if mode == Mode::Valgrind {
        needs("valgrind")?;
    }
    let mut start = example.start(mode, &folder);
    if quick && mode == Mode::Plain {
        start.arg("--quick");
    }
    process::run(start.current_dir(&folder))
        .map_err(|reason| format!("example `{}`, {}: {reason}", example.name, mode.name()).into())
}

/// The plain way: one compiler call in a script of a few lines.
fn run_script(root: &Path, examples: &[&Example], prefix: &Path, scratch: &Path) -> Outcome {
    for example in examples {
        let folder = empty_folder(scratch, &format!("{}-script", example.name))?;
        let mut script = Command::new("sh");
        script.arg(root.join(FOLDER).join("build.sh")).arg(prefix).arg(&example.name);
        process::run(script.arg(&folder))?;
        process::run(Command::new(folder.join("main")).arg("--quick").current_dir(&folder))?;
    }
    Ok(())
}

/// The CMake project, which finds the package under the prefix; its tests are the programs.
fn run_cmake(root: &Path, prefix: &Path, scratch: &Path) -> Outcome {
    needs("cmake")?;
    needs("make")?;
    let folder = empty_folder(scratch, "cmake")?;
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(root.join(FOLDER)).arg("-B").arg(&folder);
    configure.args(["-G", "Unix Makefiles", "-DCMAKE_BUILD_TYPE=Release"]);
    process::run(configure.arg(format!("-DCMAKE_PREFIX_PATH={}", text_of(prefix)?)))?;
    process::run(Command::new("cmake").arg("--build").arg(&folder).args(["--parallel", "2"]))?;
    let mut tests = Command::new("ctest");
    process::run(tests.arg("--test-dir").arg(&folder).arg("--output-on-failure"))
}

/// That a program is there that the examples need.
fn needs(program: &str) -> Outcome {
    let mut version = Command::new(program);
    version.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match version.status() {
        Ok(_) => Ok(()),
        Err(error) => Err(format!(
            "`{program}` is needed and cannot be run: {error}; `.ci/run` installs the package"
        )
        .into()),
    }
}

fn empty_folder(scratch: &Path, name: &str) -> Result<PathBuf, std::io::Error> {
    let folder = scratch.join(name);
    match std::fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

fn text_of(path: &Path) -> Result<String, String> {
    let text = path.to_str().ok_or_else(|| format!("{} is not UTF-8", path.display()))?;
    Ok(text.to_owned())
}
