//! Remanent beside PostgreSQL 15: statements at random to both, and everything that differs is a
//! defect of ours or stands in the list of what may.
//!
//! The test starts a PostgreSQL of its own. Where none is installed it says so and checks nothing,
//! but fails where the variable CI is set. A run does some hundred statements from a fixed seed;
//! `REMANENT_DIFFERENTIAL_SEED` and `REMANENT_DIFFERENTIAL_STATEMENTS` ask for others, and
//! `REMANENT_DIFFERENTIAL_FINDINGS` for more than the first finding. What is found is shown with
//! as few statements as still show it.

mod accepted;
mod answer;
mod draw;
mod judge;

use std::collections::BTreeMap;
use std::sync::Arc;

use remanent_server::{Options, Server};
use remanent_sql::SqlDatabase;
use tokio_postgres::{Client, NoTls};

use answer::{Answer, Verdict, Way, ask, compare, shown};
use draw::{Draw, Statement, World};
use judge::Judge;

const STATEMENTS: u64 = 400;
const SEED: u64 = 20_261_123;
/// What Remanent's database may take: a join of many rows is refused, and takes no more.
const BUDGET: u64 = 1 << 30;
/// Statements on the same tables.
const STATEMENTS_OF_A_WORLD: usize = 40;
/// Of a hundred statements Remanent has to do so many.
const SUPPORTED_MIN: f64 = 99.0;
/// Statements that are tried to be left out of what is shown.
const TRIES_MAX: usize = 120;

#[test]
fn random_statements_are_answered_as_postgresql_answers_them() {
    let Some(judge) = Judge::start() else {
        assert!(std::env::var_os("CI").is_none(), "PostgreSQL 15 is not installed");
        eprintln!("NOTHING WAS COMPARED: PostgreSQL 15 is not installed (apt install postgresql)");
        return;
    };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let seed = asked("REMANENT_DIFFERENTIAL_SEED", SEED);
    let statements = asked("REMANENT_DIFFERENTIAL_STATEMENTS", STATEMENTS);
    let findings_max = asked("REMANENT_DIFFERENTIAL_FINDINGS", 1);
    eprintln!("seed {seed}, {statements} statements");
    let run = async {
        let mut both = Both::new(&judge).await;
        let mut tally = Tally::default();
        let mut world = 0;
        while tally.statements < statements && (tally.findings.len() as u64) < findings_max {
            run_world(&mut both, seed.wrapping_add(world), &mut tally).await;
            world += 1;
        }
        tally
    };
    let tally = runtime.block_on(run);
    let Tally { statements, refused, unsupported, findings } = tally;
    let missing: u64 = unsupported.values().sum();
    let supported = 100.0 - missing as f64 * 100.0 / statements.max(1) as f64;
    eprintln!("{statements} statements, {refused} refused by both, {supported:.2} % supported");
    for (what, count) in unsupported {
        eprintln!("  unsupported {count} times: {what}");
    }
    assert!(findings.is_empty(), "{} findings\n{}", findings.len(), findings.join("\n\n"));
    assert!(supported >= SUPPORTED_MIN, "{supported:.2} % of the statements are supported");
}

fn asked(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[derive(Default)]
struct Tally {
    statements: u64,
    refused: u64,
    unsupported: BTreeMap<String, u64>,
    findings: Vec<String>,
}

/// A client of each.
struct Both {
    ours: Client,
    theirs: Client,
    /// Another client of the judge, which no block of statements has failed for.
    beside: Client,
    server: Option<Server>,
    settings: String,
}

impl Both {
    async fn new(judge: &Judge) -> Self {
        let (server, port) = serve();
        let settings = format!("host=127.0.0.1 port={port} user=tester dbname=db");
        let (ours, theirs) = (connect(&settings).await, connect(&judge.settings()).await);
        let beside = connect(&judge.settings()).await;
        Self { ours, theirs, beside, server: Some(server), settings }
    }

    /// A database without anything in it, on both sides.
    async fn clear(&mut self) {
        if self.ours.is_closed() {
            self.ours = connect(&self.settings).await;
        }
        for text in World::gone() {
            let _ = self.ours.batch_execute(&text).await;
            let _ = self.theirs.batch_execute(&text).await;
        }
    }

    /// Asks both, of a change what the table holds then, too.
    async fn judge(&self, statement: &Statement) -> (Verdict, String, bool) {
        let Statement { text, way, changes } = statement;
        let (ours, theirs) =
            (ask(&self.ours, text, *way).await, ask(&self.theirs, text, *way).await);
        let verdict = match compare(text, &ours, &theirs, *way) {
            Verdict::OfNoRow => self.of_no_row(text, &theirs).await,
            Verdict::Apart => self.without_twins(text, changes.as_deref()).await,
            verdict => verdict,
        };
        let refused =
            matches!(ours, Answer::Refused { .. }) || matches!(theirs, Answer::Refused { .. });
        let report = report(text, &ours, &theirs);
        let (Verdict::Same, Some(table), false) = (&verdict, changes, refused) else {
            return (verdict, report, refused);
        };
        let text = format!("select * from {table}");
        let way = Way::Prepared { ordered: false };
        let (ours, theirs) =
            (ask(&self.ours, &text, way).await, ask(&self.theirs, &text, way).await);
        match compare(&text, &ours, &theirs, way) {
            Verdict::Same => (Verdict::Same, report, refused),
            _ => {
                let what = format!("other rows in {table} afterwards");
                (Verdict::Different(what), self::report(&text, &ours, &theirs), refused)
            }
        }
    }
}

impl Both {
    /// What it means that the judge alone refuses to compute something, and there are no rows: it
    /// has to refuse to explain the statement, too.
    async fn of_no_row(&self, text: &str, theirs: &Answer) -> Verdict {
        let Answer::Refused { state, .. } = theirs else { return Verdict::Same };
        match ask(&self.beside, &format!("explain {text}"), Way::Text).await {
            Answer::Refused { state: of_plan, .. } if of_plan == *state => Verdict::Same,
            _ => Verdict::Different("not refused".to_owned()),
        }
    }

    /// What it means that an UPDATE was refused by the judge alone, for a key that two rows have
    /// meanwhile: afterwards no key is there twice.
    async fn without_twins(&self, text: &str, table: Option<&str>) -> Verdict {
        let Some(table) = table else { return Verdict::Apart };
        let named = format!(
            "select attname::text from pg_index, pg_attribute where indrelid = '{table}'::regclass \
             and indisunique and attrelid = indrelid and attnum = indkey[0]"
        );
        let columns = self.beside.query(&named, &[]).await.expect("the judge knows its keys");
        for column in columns {
            let column: String = column.get(0);
            let twins = format!(
                "select {column} from {table} where {column} is not null \
                 group by {column} having count(*) > 1"
            );
            match ask(&self.ours, &twins, Way::Prepared { ordered: false }).await {
                Answer::Rows { rows, .. } if rows.is_empty() => {}
                _ => return Verdict::Different(format!("a key twice after {text}")),
            }
        }
        Verdict::Apart
    }
}

impl Drop for Both {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop();
        }
    }
}

fn report(text: &str, ours: &Answer, theirs: &Answer) -> String {
    format!("{text};\n  Remanent: {}\n  PostgreSQL: {}", shown(ours), shown(theirs))
}

fn serve() -> (Server, u16) {
    let memory = remanent_engine::Options::new().budget(BUDGET);
    let engine = remanent_engine::Database::open(memory).expect("an engine");
    let database = SqlDatabase::new(Arc::new(engine)).expect("a database");
    let options = Options::new().listen("127.0.0.1:0").trust(true);
    let server = Server::start(database, options).expect("a server");
    let port = server.addresses()[0].rsplit_once(':').expect("a port").1;
    let port = port.parse().expect("its number");
    (server, port)
}

async fn connect(settings: &str) -> Client {
    let (client, connection) =
        tokio_postgres::connect(settings, NoTls).await.expect("it is let in");
    tokio::spawn(connection);
    client
}

/// Statements on tables of one seed, up to the first difference.
async fn run_world(both: &mut Both, seed: u64, tally: &mut Tally) {
    let mut draw = Draw::new(seed);
    let (mut world, made) = World::new(&mut draw);
    both.clear().await;
    let mut done: Vec<Statement> = Vec::new();
    let mut waiting = made.into_iter();
    for _ in 0..STATEMENTS_OF_A_WORLD + waiting.len() {
        let statement = waiting.next().unwrap_or_else(|| world.next(&mut draw));
        let (verdict, report, refused) = both.judge(&statement).await;
        done.push(statement);
        tally.statements += 1;
        tally.refused += u64::from(refused);
        match verdict {
            Verdict::Same => {}
            Verdict::Apart | Verdict::OfNoRow => return,
            Verdict::Unsupported(what) => *tally.unsupported.entry(what).or_default() += 1,
            Verdict::Different(what) => {
                eprintln!("seed {seed}: {what}: {report}");
                let found = reduced(both, done, &what).await;
                eprintln!("with fewer statements:\n{found}");
                tally.findings.push(format!("seed {seed}: {what}\n{found}"));
                return;
            }
        }
        // PostgreSQL ends a block with the first error, Remanent does not.
        if refused && world.in_block {
            (world.in_block, world.savepoint) = (false, false);
            let rollback = Statement::plain("rollback");
            both.judge(&rollback).await;
            done.push(rollback);
        }
        if refused {
            let statement = done.last().map(|it| it.text.clone()).unwrap_or_default();
            world.views.retain(|(name, _)| !statement.starts_with(&format!("create view {name} ")));
        }
    }
}

/// As few of the statements as still differ in the last one, and what is answered to that.
async fn reduced(both: &mut Both, mut kept: Vec<Statement>, what: &str) -> String {
    let mut last = replay(both, &kept, what).await;
    if last.is_none() {
        return "It does not differ when it is done again.".to_owned();
    }
    let mut tries = 0;
    let mut length = kept.len() / 2;
    // Half of what is before, then a quarter, and so on, down to single statements.
    while length > 0 && what != "the connection is lost" {
        let mut end = kept.len() - 1;
        while end > 0 && tries < TRIES_MAX {
            tries += 1;
            let from = end.saturating_sub(length);
            let mut fewer = kept.clone();
            fewer.drain(from..end);
            if let Some(report) = replay(both, &fewer, what).await {
                (kept, last) = (fewer, Some(report));
            }
            end = from;
        }
        length /= 2;
    }
    let before = &kept[..kept.len().saturating_sub(1)];
    let mut lines: Vec<String> = before.iter().map(|it| format!("{};", it.text)).collect();
    lines.extend(last);
    lines.join("\n")
}

/// Does statements again; what the last one is answered, if it differs there as before.
async fn replay(both: &mut Both, statements: &[Statement], what: &str) -> Option<String> {
    both.clear().await;
    let (last, before) = statements.split_last()?;
    for Statement { text, way, .. } in before {
        ask(&both.ours, text, *way).await;
        ask(&both.theirs, text, *way).await;
    }
    match both.judge(last).await {
        (Verdict::Different(now), report, _) if now == what => Some(report),
        _ => None,
    }
}
