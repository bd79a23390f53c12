//! Who can log in to a server: the roles that the database has, or one that is made at its start.
//!
//! A password that was made is shown once, to whoever has started the server.

use std::sync::Arc;

use remanent_server::is_verifier_of;
use remanent_sql::{Role, SqlDatabase};

use super::said;
use crate::flags::Flags;
use crate::outcome::{Failure, Outcome};

/// The role that is made where nobody could log in otherwise.
pub(super) const FIRST_ROLE: &str = "remanent";

/// Holds the password of the role that is made.
pub(super) const PASSWORD: &str = "REMANENT_PASSWORD";

/// Who can log in, in words.
const TRUST: &str = "trust: no password from this machine, under any name";
const ROLES: &str = "the roles of the database, by their passwords";

/// Sees to it that somebody can log in, and says who, in words.
///
/// # Errors
/// As the database; `--superuser` without a password.
pub(super) fn give(database: &Arc<SqlDatabase>, flags: &Flags) -> Result<String, Failure> {
    let given = std::env::var(PASSWORD).ok().filter(|password| !password.is_empty());
    if let Some(name) = &flags.superuser {
        let Some(password) = given else {
            let text = format!("--superuser needs a password in the environment, as {PASSWORD}");
            return Err(Failure::Usage(text));
        };
        make_superuser(database, name, &password)?;
        return Ok(format!("superuser {name} with the password of {PASSWORD}"));
    }
    if flags.trust {
        return Ok(TRUST.to_owned());
    }
    if database.has_login() {
        return Ok(ROLES.to_owned());
    }
    let password = given.clone().unwrap_or_else(remanent_server::random_password);
    make_superuser(database, FIRST_ROLE, &password)?;
    Ok(match given {
        Some(_) => format!("superuser {FIRST_ROLE}, made now, with the password of {PASSWORD}"),
        None => {
            format!("superuser {FIRST_ROLE}, made now; password {password} is shown this once")
        }
    })
}

/// Makes the role, or gives it the password if it is there. One that has it stays as it is: whoever
/// is just logging in would find another role.
fn make_superuser(database: &Arc<SqlDatabase>, name: &str, password: &str) -> Outcome {
    let role = database.role(name);
    let has_it = |role: &Role| {
        let verifier = role.verifier.as_deref();
        role.may_log_in
            && role.is_superuser
            && verifier.is_some_and(|verifier| is_verifier_of(verifier, password))
    };
    if role.as_ref().is_some_and(has_it) {
        return Ok(());
    }
    let verb = if role.is_some() { "ALTER" } else { "CREATE" };
    let name = name.replace('"', "\"\"");
    let password = password.replace('\'', "''");
    let text = format!("{verb} ROLE \"{name}\" LOGIN SUPERUSER PASSWORD '{password}'");
    database.session().execute(&text).map_err(said)?;
    Ok(())
}

/// Who can log in where roles come from another replica, in words.
pub(super) fn of_follower(flags: &Flags) -> String {
    match flags.trust {
        true => TRUST.to_owned(),
        false => ROLES.to_owned(),
    }
}
