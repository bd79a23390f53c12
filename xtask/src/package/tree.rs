//! Libraries, headers and the program: an archive to unpack anywhere, and a package of Debian's.
//!
//! Both are the tree that `cargo xtask install` makes: its files for pkg-config and CMake find what
//! lies beside them, so it works wherever it is put. Packages: gcc, pkg-config, tar; for `deb`
//! dpkg-deb.

use std::path::Path;
use std::process::Command;

use crate::outcome::Outcome;
use crate::{install, process};

const WITH: [&str; 2] = ["--with-sql", "--with-replication"];
/// The program that is built and run against what was unpacked.
const EXAMPLE: &str = "examples/c/native/main.c";

pub(super) fn make_tar(root: &Path, folder: &Path) -> Outcome {
    let name = format!("remanent-{}-{}-linux", install::version(root)?, std::env::consts::ARCH);
    let tree = super::emptied(folder.join("tar"))?;
    put(root, &tree.join(&name))?;
    let archive = folder.join(format!("{name}.tar.gz"));
    let mut pack = Command::new("tar");
    pack.args(["--create", "--gzip", "--owner=0", "--group=0", "--file"]).arg(&archive);
    process::run(pack.arg("--directory").arg(&tree).arg(&name))?;
    let unpacked = super::emptied(folder.join("unpacked"))?;
    let mut unpack = Command::new("tar");
    unpack.arg("--extract").arg("--file").arg(&archive);
    process::run(unpack.arg("--directory").arg(&unpacked))?;
    uses(root, &unpacked.join(&name), &unpacked)?;
    println!("{} has {} bytes", archive.display(), archive.metadata()?.len());
    Ok(())
}

pub(super) fn make_deb(root: &Path, folder: &Path) -> Outcome {
    let version = install::version(root)?;
    let tree = super::emptied(folder.join("deb"))?;
    put(root, &tree.join("usr"))?;
    let documents = tree.join("usr/share/doc/remanent");
    std::fs::create_dir_all(&documents)?;
    for (file, name) in [("LICENSE-MIT", "copyright"), ("CHANGELOG.md", "CHANGELOG.md")] {
        std::fs::copy(root.join(file), documents.join(name))?;
    }
    let architecture = said(Command::new("dpkg").arg("--print-architecture"))?;
    let c_library = said(Command::new("dpkg-query").args(["-W", "-f", "${Version}", "libc6"]))?;
    let c_library = c_library.split('-').next().unwrap_or_default().to_owned();
    let control = format!(
        "Package: remanent\nVersion: {version}\nArchitecture: {architecture}\n\
         Maintainer: The Remanent developers <nobody@localhost>\nSection: database\n\
         Priority: optional\nDepends: libc6 (>= {c_library}), libgcc-s1\n\
         Description: A main-memory database that applications link in\n \
         Libraries and headers for C and C++, and the program remanent: a shell for\n \
         SQL, a server for clients of PostgreSQL, and tools.\n"
    );
    std::fs::create_dir_all(tree.join("DEBIAN"))?;
    std::fs::write(tree.join("DEBIAN/control"), control)?;
    let package = folder.join(format!("remanent_{version}_{architecture}.deb"));
    let mut build = Command::new("dpkg-deb");
    build.args(["--root-owner-group", "--build"]).arg(&tree);
    process::run(build.arg(&package))?;
    let unpacked = super::emptied(folder.join("unpacked"))?;
    process::run(Command::new("dpkg-deb").arg("--extract").arg(&package).arg(&unpacked))?;
    uses(root, &unpacked.join("usr"), &unpacked)?;
    println!("{} has {} bytes", package.display(), package.metadata()?.len());
    Ok(())
}

fn put(root: &Path, prefix: &Path) -> Outcome {
    let prefix = prefix.to_str().ok_or("the folder's name is no text")?.to_owned();
    let arguments = [&[prefix.as_str()][..], &WITH].concat();
    let arguments: Vec<String> = arguments.into_iter().map(str::to_owned).collect();
    install::run(root, &arguments)
}

/// Builds a program against the tree with pkg-config, and runs it and the tree's own program.
fn uses(root: &Path, prefix: &Path, scratch: &Path) -> Outcome {
    let mut flags = Command::new("pkg-config");
    flags.args(["--cflags", "--libs", "remanent"]);
    let flags = said(flags.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")))?;
    let program = scratch.join("example");
    let mut compile = Command::new("gcc");
    compile.args(["-std=c11", "-O2"]).arg(root.join(EXAMPLE)).args(flags.split_whitespace());
    process::run(compile.arg("-o").arg(&program))?;
    let library = prefix.join("lib");
    process::run(Command::new(&program).current_dir(scratch).env("LD_LIBRARY_PATH", library))?;
    process::run(Command::new(prefix.join("bin/remanent")).arg("--version"))
}

/// The line that a program says.
fn said(command: &mut Command) -> Result<String, Box<dyn std::error::Error>> {
    let output = command.output()?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("{command:?} failed: {text}").into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
