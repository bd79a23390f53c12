//! The table in the terminal: of each statement the share of refusals and the commits a second.
//!
//! The last line has the means, over statements that both contenders know.

use std::io::Write;

use comfy_table::{Cell as TableCell, CellAlignment, Table, presets};
use lab_harness::Outcome;

use crate::record::Case;

/// Prints all cases.
///
/// # Errors
///
/// When it cannot be written.
pub(crate) fn print(out: &mut dyn Write, cases: &[Case], missing: Option<&str>) -> Outcome<()> {
    let mut names: Vec<&str> = cases.iter().map(|case| case.contender).collect();
    names.dedup();
    names.truncate(names.iter().skip(1).position(|name| *name == names[0]).map_or(2, |at| at + 1));
    let mut table = Table::new();
    let of = |what: &str| names.iter().map(|name| format!("{name} {what}")).collect::<Vec<_>>();
    let mut header = vec!["statement".to_owned()];
    header.extend(of("refused").into_iter().chain(of("commits/s")).chain(["ratio".to_owned()]));
    table.load_style(presets::NOTHING).set_header(header);
    let mut known: Vec<&[Case]> = Vec::new();
    for of_statement in cases.chunks(names.len().max(1)) {
        let ratio = ratio(of_statement);
        if of_statement.iter().all(Case::is_right) {
            known.push(of_statement);
        }
        let shares = of_statement.iter().map(|case| shown(case, case.refused_share().map(percent)));
        let rates = of_statement.iter().map(|case| shown(case, case.wall_ns().map(rate)));
        let ratio = ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
        table.add_row(line(of_statement[0].statement.text, shares.chain(rates).chain([ratio])));
    }
    let shares = (0..names.len()).map(|at| {
        let shares: Vec<f64> = known.iter().filter_map(|it| it[at].refused_share()).collect();
        percent(shares.iter().sum::<f64>() / shares.len().max(1) as f64)
    });
    let rates = (0..names.len()).map(|at| {
        let times: Vec<f64> = known.iter().filter_map(|it| it[at].wall_ns()).collect();
        geometric_mean(&times).map_or("-".to_owned(), rate)
    });
    let ratios: Vec<f64> = known.iter().filter_map(|it| ratio(it)).collect();
    let mean = geometric_mean(&ratios).map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
    table.add_row(line("mean", shares.chain(rates).chain([mean])));
    writeln!(out, "\n== four clients on keys of their own, serializable, each tried once")?;
    writeln!(out, "{table}")?;
    for case in cases {
        if let Some(reason) = case.skipped.as_ref().or(case.wrong.as_ref()) {
            writeln!(out, "{}: {}: {reason}", case.contender, case.statement.text)?;
        }
    }
    missing.map_or(Ok(()), |reason| Ok(writeln!(out, "postgresql was left out: {reason}")?))
}

/// How many transactions the first one commits for each of the second one.
fn ratio(of_statement: &[Case]) -> Option<f64> {
    match of_statement {
        [one, two] => Some(two.wall_ns()? / one.wall_ns()?),
        _ => None,
    }
}

fn shown(case: &Case, text: Option<String>) -> String {
    match (&case.skipped, &case.wrong) {
        (Some(_), _) => "unknown".to_owned(),
        (_, Some(_)) => "unverified".to_owned(),
        _ => text.unwrap_or_else(|| "-".to_owned()),
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn rate(wall_ns: f64) -> String {
    format!("{:.0}", 1e9 / wall_ns)
}

fn geometric_mean(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().map(|value| value.ln()).sum();
    (!values.is_empty()).then(|| (sum / values.len() as f64).exp())
}

fn line(first: &str, cases: impl Iterator<Item = String>) -> Vec<TableCell> {
    let right = cases.map(|case| TableCell::new(case).set_alignment(CellAlignment::Right));
    std::iter::once(TableCell::new(first)).chain(right).collect()
}
