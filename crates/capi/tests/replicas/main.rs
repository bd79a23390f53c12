//! A program in C with three replicas, against the header and a library that has them.
//!
//! `cargo test --package remanent-capi --features replication --test replicas`; without the feature
//! there is nothing to test.
#![cfg(feature = "replication")]

#[expect(dead_code, reason = "headers of schemas are made for other programs")]
#[path = "../programs/build.rs"]
mod build;

use std::net::TcpListener;
use std::process::Command;

use build::{compiler, here, link, scratch, succeed};

#[test]
fn three_replicas_in_c_do_what_the_header_says() {
    let folder = scratch().join("replicas");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let program = folder.join("program");
    let mut build = compiler("replicas.c", &folder);
    build.arg(here().join("tests/c/replicas.c"));
    link(&mut build, &program);
    // Held together, so that they differ; the replicas take them when they are free again.
    let listeners = [0; 3].map(|_| TcpListener::bind("127.0.0.1:0").expect("a port is free"));
    let ports = listeners.each_ref().map(|it| it.local_addr().expect("it listens").port());
    drop(listeners);
    let mut run = Command::new(program);
    succeed(run.arg(&folder).args(ports.map(|port| port.to_string())));
}
