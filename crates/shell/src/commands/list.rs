//! Lists of what there is: relations, schemas, roles, the database.
//!
//! Each is a query of `pg_catalog`, printed in the format that is set.

use remanent_sql::{Datum, SqlType};

use super::Call;
use super::pattern::Pattern;
use crate::printing::Frame;
use crate::shell::Shell;
use crate::stop::Failure;

/// `\dt`, `\di`, `\dv`, `\ds`, and `\d` without a name.
pub(super) fn relations(shell: &mut Shell, call: &mut Call<'_, '_>) -> Result<(), Failure> {
    let kinds = match call.name {
        "dt" | ".tables" => "'r'",
        "di" | ".indexes" => "'i'",
        "dv" => "'v'",
        "ds" => "'S'",
        _ => "'r', 'v', 'S'",
    };
    let given = call.next(&shell.variables);
    let pattern = Pattern::new(given.as_deref());
    let is_index = kinds == "'i'";
    let (table, join) = match is_index {
        true => (
            ", t.relname as \"Table\"",
            " join pg_catalog.pg_index x on x.indexrelid = c.oid \
             join pg_catalog.pg_class t on t.oid = x.indrelid",
        ),
        false => ("", ""),
    };
    let described = match call.is_verbose {
        true => ", obj_description(c.oid, 'pg_class') as \"Description\"",
        false => "",
    };
    let query = format!(
        "select n.nspname as \"Schema\", c.relname as \"Name\", case c.relkind when 'r' then \
         'table' when 'v' then 'view' when 'i' then 'index' else 'sequence' end as \
         \"Type\"{table}{described} from pg_catalog.pg_class c join pg_catalog.pg_namespace n on \
         n.oid = c.relnamespace{join} where c.relkind in ({kinds}){} order by 1, 2",
        pattern.conditions("n.nspname", "c.relname")
    );
    let title = if is_index { "List of indexes" } else { "List of relations" };
    let none = match given {
        Some(given) => format!("there is nothing named {given}"),
        None => "there are none".to_owned(),
    };
    listed(shell, &query, title, &none)
}

/// `\dn`.
pub(super) fn schemas(shell: &mut Shell, call: &mut Call<'_, '_>) -> Result<(), Failure> {
    let given = call.next(&shell.variables);
    let pattern = Pattern::new(given.as_deref()).of_name("nspname");
    let query = format!(
        "select nspname as \"Name\" from pg_catalog.pg_namespace where nspname not in \
         ('pg_catalog', 'information_schema'){pattern} order by 1"
    );
    listed(shell, &query, "List of schemas", "there are none")
}

/// `\du`.
pub(super) fn roles(shell: &mut Shell, call: &mut Call<'_, '_>) -> Result<(), Failure> {
    let given = call.next(&shell.variables);
    let pattern = Pattern::new(given.as_deref()).of_name("rolname");
    let query = format!(
        "select rolname as \"Role name\", rolsuper as \"Superuser\", rolcanlogin as \"Login\" \
         from pg_catalog.pg_roles where true{pattern} order by 1"
    );
    listed(shell, &query, "List of roles", "there are none")
}

/// `\l`.
pub(super) fn database(shell: &mut Shell, _: &mut Call<'_, '_>) -> Result<(), Failure> {
    let query = "select datname as \"Name\", 'UTF8' as \"Encoding\" from pg_catalog.pg_database";
    listed(shell, query, "List of databases", "there are none")
}

/// Prints what a query finds; what is said if that is nothing.
fn listed(shell: &mut Shell, query: &str, title: &str, none: &str) -> Result<(), Failure> {
    let answer = shell.ask(query)?;
    if answer.rows.is_empty() && shell.style.format.is_for_people() {
        shell.streams.report(none);
        return Ok(());
    }
    let columns: Vec<(&str, SqlType)> =
        answer.columns.iter().map(|c| (c.name.as_str(), c.sql_type.clone())).collect();
    let rows: Vec<Vec<Datum>> = answer.rows;
    shell.show(&columns, &rows, Frame { title: Some(title.to_owned()), footers: None })
}
