//! Gives the shared library its soname, the name under which programs look for it.
//!
//! `cargo xtask install` puts the library down under that name. Nothing else is decided here.

fn main() {
    let major = std::env::var("CARGO_PKG_VERSION_MAJOR").unwrap_or_default();
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libremanent.so.{major}");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
