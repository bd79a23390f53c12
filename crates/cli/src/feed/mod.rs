//! `remanent feed CONNECTION`: the changes that a server commits, each a line of JSON.
//!
//! It reads what `remanent_changes` gives, from a position of the log on, up to what was committed,
//! or for as long as it runs. A server that goes away is connected to again, or another one of its
//! group: positions mean the same in all replicas. What was printed is not printed again then.

mod line;

use std::io::{BufWriter, Stdout, Write};
use std::time::Duration;

use tokio_postgres::{Client, Error as ClientError, SimpleQueryMessage};

use self::line::{COLUMNS, Line};
use crate::client::{self, Server};
use crate::flags::{self, Flags};
use crate::outcome::{Failure, Outcome, answer, say};

const FLAG_NAMES: [&str; 5] = ["from", "table", "follow", "authority", "help"];

/// How long it waits where nothing new was committed, and before it connects again.
const LOOK_AFTER: Duration = Duration::from_millis(50);
const AGAIN_AFTER: Duration = Duration::from_millis(200);
/// How often it asks another replica, for each that there is, whether its log reaches back so far.
const OTHERS: usize = 5;
/// The SQLSTATE of a log that does not.
const GONE: &str = "55R02";

/// Runs the command.
pub(crate) fn run(flags: &Flags) -> Outcome {
    if flags.help {
        return answer(&help());
    }
    flags.only("feed", &FLAG_NAMES)?;
    let [connection] = flags.words(["a connection, such as postgresql://admin@localhost/db"])?;
    let server = Server::of("remanent feed", connection, flags.authority.as_deref())?;
    let from = match flags.from.as_deref() {
        None if flags.follow => None,
        None => Some(0),
        Some("now") => None,
        Some(text) => Some(text.parse().map_err(|_| {
            Failure::Usage(format!("--from takes a position of the log or `now`, not `{text}`"))
        })?),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::Refused(format!("error: {error}")))?;
    let feed = Feed {
        condition: condition(&flags.table),
        is_filtered: !flags.table.is_empty(),
        from: 0,
        printed: None,
        skipped: false,
        out: BufWriter::new(std::io::stdout()),
    };
    match runtime.block_on(feed.run(&server, from, flags.follow)) {
        // Who reads has read enough.
        Err(Stop::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        Err(Stop::Output(error)) => {
            Err(Failure::Refused(format!("error: standard output: {error}")))
        }
        Err(Stop::Server(error)) => Err(Failure::Refused(client::said(&error))),
        Ok(()) => Ok(()),
    }
}

/// What is being printed.
struct Feed {
    /// The rest of the query.
    condition: String,
    is_filtered: bool,
    /// The position behind the last commit of which everything was printed.
    from: u64,
    /// The position behind the commit that was printed in part, and the last change of it.
    printed: Option<(u64, u64)>,
    /// Whether commits were passed since that were not printed.
    skipped: bool,
    out: BufWriter<Stdout>,
}

/// Why it ends.
enum Stop {
    Output(std::io::Error),
    Server(ClientError),
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<ClientError> for Stop {
    fn from(error: ClientError) -> Self {
        Self::Server(error)
    }
}

impl Feed {
    async fn run(mut self, server: &Server, from: Option<u64>, follows: bool) -> Result<(), Stop> {
        let mut client = server.connect().await?;
        self.from = match from {
            Some(from) => from,
            None => now(&client).await?,
        };
        let mut others = if server.count() > 1 { OTHERS * server.count() } else { 0 };
        loop {
            match self.round(&client).await {
                Ok(_) if !follows => return Ok(()),
                Ok(true) => {}
                Ok(false) => tokio::time::sleep(LOOK_AFTER).await,
                Err(Stop::Server(error)) if follows && client::is_passing(&error) => {
                    self.out.flush()?;
                    say(&format!("{}; connecting again", client::said(&error)));
                    client = again(server, Server::connect).await?;
                }
                // Another replica, which is no copy, may have the log from there on.
                Err(Stop::Server(error)) if others > 0 && is_gone(&error) => {
                    others -= 1;
                    say(&format!("{}; asking another replica", client::said(&error)));
                    client = again(server, Server::connect_to_any).await?;
                }
                Err(stop) => return Err(stop),
            }
        }
    }

    /// Prints what was committed by now; whether anything was.
    async fn round(&mut self, client: &Client) -> Result<bool, Stop> {
        let query = format!(
            "select {} from remanent_changes({}){}",
            COLUMNS.join(", "),
            self.from,
            self.condition
        );
        let mut rows = std::pin::pin!(client.simple_query_raw(&query).await?);
        let mut any = false;
        while let Some(message) = next(&mut rows).await {
            let SimpleQueryMessage::Row(row) = message? else { continue };
            let line = Line::of(&row);
            any = true;
            self.print(&line)?;
        }
        if self.skipped && any {
            // Whoever reads goes on from here, though nothing was for them.
            writeln!(self.out, "{}", Line::commit(self.from))?;
            self.skipped = false;
        }
        self.out.flush()?;
        Ok(any)
    }

    fn print(&mut self, line: &Line<'_>) -> Result<(), Stop> {
        let (lsn, number) = (line.lsn(), line.number());
        let was_printed = self.printed.is_some_and(|(of, last)| of == lsn && number <= last);
        let is_of_interest = self.printed.is_some_and(|(of, _)| of == lsn);
        if line.is_commit() {
            (self.from, self.printed) = (lsn, None);
            self.skipped = self.is_filtered && !is_of_interest;
            if self.skipped {
                return Ok(());
            }
        } else if was_printed {
            return Ok(());
        } else {
            self.printed = Some((lsn, number));
        }
        Ok(writeln!(self.out, "{line}")?)
    }
}

/// The next message of a stream.
async fn next(
    rows: &mut std::pin::Pin<&mut tokio_postgres::SimpleQueryStream>,
) -> Option<Result<SimpleQueryMessage, ClientError>> {
    std::future::poll_fn(|context| futures::Stream::poll_next(rows.as_mut(), context)).await
}

/// The position behind what was committed by now.
async fn now(client: &Client) -> Result<u64, Stop> {
    for message in client.simple_query("show remanent.lsn").await? {
        if let SimpleQueryMessage::Row(row) = message {
            return Ok(row.get(0).and_then(|lsn| lsn.parse().ok()).unwrap_or(0));
        }
    }
    Ok(0)
}

fn is_gone(error: &ClientError) -> bool {
    error.code().is_some_and(|code| code.code() == GONE)
}

/// Connects until that succeeds, or is refused for good.
async fn again(
    server: &Server,
    connect: impl AsyncFn(&Server) -> Result<Client, ClientError>,
) -> Result<Client, Stop> {
    loop {
        tokio::time::sleep(AGAIN_AFTER).await;
        match connect(server).await {
            Err(error) if client::is_passing(&error) => {}
            connected => return Ok(connected?),
        }
    }
}

/// The tables that are wanted, and the ends of commits.
fn condition(tables: &[String]) -> String {
    if tables.is_empty() {
        return String::new();
    }
    let quoted = |name: &str| format!("'{}'", name.replace('\'', "''"));
    let wanted = tables.iter().map(|table| match table.split_once('.') {
        Some((schema, name)) => {
            format!("table_schema = {} and table_name = {}", quoted(schema), quoted(name))
        }
        None => format!("table_name = {}", quoted(table)),
    });
    let wanted: Vec<_> = wanted.collect();
    format!(" where kind = 'commit' or {}", wanted.join(" or "))
}

fn help() -> String {
    format!(
        "Prints the changes that a server commits, each a line of JSON\n\n\
         usage: remanent feed CONNECTION [flags]\n\n\
         CONNECTION is as psql takes it: postgresql://admin@localhost/db, or words such as\n\
         \"host=a,b,c user=admin dbname=db\". The password may stand in PGPASSWORD. The server\n\
         runs with --change-feed; the role is a superuser.\n\
         \nflags:\n{}\n\
         The last line of a transaction says `commit`; its `lsn` is where another feed goes on.\n\
         Ends with 0, with 1 if the server refuses or cannot be reached, with 2 if it was\n\
         called wrongly.\n",
        flags::help(&FLAG_NAMES)
    )
}
