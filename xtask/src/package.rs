//! `cargo xtask package KIND`: what is installed with a package manager, one kind a command.
//!
//! `wheel` is the Python package, with the program in it: made by maturin, in `target/package`,
//! with the oldest manylinux tag that the C library of this machine allows, then installed into a
//! new virtual environment and used there. maturin comes from PyPI. Package: python3-venv.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::outcome::Outcome;
use crate::process;

const USAGE: &str = "write `cargo xtask package wheel`";
const MATURIN: &str = "maturin>=1.16,<2";
/// What a wheel may take, in bytes.
const WHEEL_MAX: u64 = 60_000_000;
/// What the package has to do where it was installed.
const USE: &str = "\
import remanent
con = remanent.connect()
con.execute('create table t (a int primary key)')
con.executemany('insert into t values (?)', [(n,) for n in range(10)])
assert con.sql('select sum(a) from t').fetchone() == (45,)
assert con.kv('pairs').get(b'k') is None
";

pub(crate) fn run(root: &Path, arguments: &[String]) -> Outcome {
    match arguments {
        [kind] if kind == "wheel" => wheel(root),
        _ => Err(USAGE.into()),
    }
}

fn wheel(root: &Path) -> Outcome {
    let folder = target(root).join("package");
    let tools = folder.join("tools");
    if !tools.join("bin/maturin").exists() {
        process::run(Command::new("python3").args(["-m", "venv"]).arg(&tools))?;
        pip(&tools, &[MATURIN.as_ref()])?;
    }
    let wheels = folder.join("wheels");
    if wheels.exists() {
        std::fs::remove_dir_all(&wheels)?;
    }
    let mut build = Command::new(tools.join("bin/maturin"));
    build.args(["build", "--manifest-path", "bindings/python/Cargo.toml", "--out"]);
    process::run(build.arg(&wheels).current_dir(root))?;
    let wheel = std::fs::read_dir(&wheels)?.next().ok_or("maturin has made no wheel")??.path();
    let bytes = wheel.metadata()?.len();
    println!("{} has {:.1} MB", wheel.display(), bytes as f64 / 1e6);
    if bytes > WHEEL_MAX {
        return Err(format!("a wheel may have {} MB", WHEEL_MAX / 1_000_000).into());
    }
    let fresh = folder.join("fresh");
    if fresh.exists() {
        std::fs::remove_dir_all(&fresh)?;
    }
    process::run(Command::new("python3").args(["-m", "venv"]).arg(&fresh))?;
    pip(&fresh, &[wheel.as_os_str()])?;
    process::run(Command::new(fresh.join("bin/python")).args(["-c", USE]).current_dir(&folder))?;
    process::run(Command::new(fresh.join("bin/remanent")).arg("--version"))
}

fn pip(environment: &Path, what: &[&std::ffi::OsStr]) -> Outcome {
    let mut install = Command::new(environment.join("bin/pip"));
    install.args(["install", "--quiet", "--disable-pip-version-check"]);
    process::run(install.args(what))
}

fn target(root: &Path) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
    root.join(target)
}
