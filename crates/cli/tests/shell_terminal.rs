//! The shell in a terminal, as somebody types: statements, completion, Ctrl-C, Ctrl-D, history.

#![cfg(feature = "sql")]

#[expect(dead_code, reason = "a part of it is used here")]
mod program;

use std::process::Command;

use program::Folder;
use rexpect::session::{PtySession, spawn_command};

/// Long enough for a machine that does much else.
const TIMEOUT_MS: u64 = 60_000;

/// Runs until it is stopped.
const ENDLESS: &str = "with recursive r(n) as (select 1 union all select n + 1 from r) \
                       select count(*) from r;";

fn shell(folder: &Folder) -> PtySession {
    let mut command = Command::new(env!("CARGO_BIN_EXE_remanent"));
    command.env("REMANENT_HISTORY", folder.path("history")).env("TERM", "xterm");
    let mut session = spawn_command(command, Some(TIMEOUT_MS)).expect("it starts");
    session.exp_string("memory=> ").expect("it shows a prompt");
    session
}

#[test]
fn a_statement_over_two_lines_is_answered() {
    let folder = Folder::new("terminal-statement");
    let mut shell = shell(&folder);
    shell.send_line("select 40 + 2").unwrap();
    shell.exp_string("memory-> ").unwrap();
    shell.send_line("as answer;").unwrap();
    shell.exp_string("(1 row)").unwrap();
    shell.exp_string("memory=> ").unwrap();
    shell.send_line("begin;").unwrap();
    shell.exp_string("memory=*> ").unwrap();
}

#[test]
fn ctrl_c_stops_a_statement_and_clears_a_line_and_ctrl_d_ends() {
    let folder = Folder::new("terminal-interrupt");
    let mut shell = shell(&folder);
    shell.send_line(ENDLESS).unwrap();
    // The echo of the line, then nothing until it is stopped.
    shell.exp_string("from r;").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    shell.send_control('c').unwrap();
    shell.exp_string("57014").unwrap();
    shell.exp_string("memory=> ").unwrap();
    shell.send("select 'never closed").unwrap();
    shell.flush().unwrap();
    shell.send_control('c').unwrap();
    shell.exp_string("memory=> ").unwrap();
    shell.send_line("select 'still' || ' here';").unwrap();
    shell.exp_string("still here").unwrap();
    shell.exp_string("memory=> ").unwrap();
    shell.send_control('d').unwrap();
    shell.exp_eof().expect("it ends");
    let history = std::fs::read_to_string(folder.path("history")).expect("it was written");
    assert!(history.contains("|| ' here'"), "{history}");
}

#[test]
fn tables_columns_and_words_are_completed() {
    let folder = Folder::new("terminal-completion");
    let mut shell = shell(&folder);
    shell.send_line("create table measurements (sensor_number int, value int);").unwrap();
    shell.exp_string("CREATE TABLE").unwrap();
    shell.exp_string("memory=> ").unwrap();
    shell.send_line("insert into measurements values (7, 1);").unwrap();
    shell.exp_string("INSERT 0 1").unwrap();
    shell.exp_string("memory=> ").unwrap();
    // Each tab needs the answer to the one before.
    shell.send("sel\t").unwrap();
    shell.flush().unwrap();
    shell.exp_string("select").unwrap();
    shell.send(" m.value from meas\t").unwrap();
    shell.flush().unwrap();
    shell.exp_string("measurements").unwrap();
    shell.send(" m where m.sens\t").unwrap();
    shell.flush().unwrap();
    shell.exp_string("m.sensor_number").unwrap();
    shell.send_line(" = 7;").unwrap();
    shell.exp_string("(1 row)").unwrap();
}
