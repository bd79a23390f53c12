//! The Python package, with the program in it.
//!
//! maturin makes it, with the oldest manylinux tag that the C library of this machine allows; then
//! it is installed into a new virtual environment and used there. maturin comes from PyPI. Package:
//! python3-venv.

use std::path::Path;
use std::process::Command;

use crate::outcome::Outcome;
use crate::process;

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
con.commit()
assert con.kv('pairs').get(b'k') is None
";

pub(super) fn make(root: &Path, folder: &Path) -> Outcome {
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
    process::run(Command::new(fresh.join("bin/python")).args(["-c", USE]).current_dir(folder))?;
    process::run(Command::new(fresh.join("bin/remanent")).arg("--version"))
}

fn pip(environment: &Path, what: &[&std::ffi::OsStr]) -> Outcome {
    let mut install = Command::new(environment.join("bin/pip"));
    install.args(["install", "--quiet", "--disable-pip-version-check"]);
    process::run(install.args(what))
}
