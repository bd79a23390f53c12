//! `remanent backup CONNECTION TARGET`: a server, or a replica, makes the copy while it goes on.
//!
//! The rows of `remanent_backup()` are pieces of one file, which are written as they come, under
//! the name of an image that is not whole. The last row has its name: then it gets that.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use remanent_engine::{Folder, Storage, StorageFile};
use tokio_postgres::{Client, Row};

use super::FLAG_NAMES;
use crate::client::{self, Server};
use crate::flags::Flags;
use crate::outcome::{Failure, Outcome, answer};
use crate::recovering::{end_progress, has_database};
use crate::sizes;

/// What the file is called until it is whole.
const PARTIAL: &str = "image.new";
/// How often progress is shown.
const PROGRESS_TIME: Duration = Duration::from_millis(100);

/// Runs the command.
pub(crate) fn run(flags: &Flags) -> Outcome {
    flags.only("backup", &FLAG_NAMES)?;
    let [connection, target] = flags.words(["a connection", "a folder to copy it to"])?;
    let server = Server::of("remanent backup", connection, flags.authority.as_deref())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::Refused(format!("error: {error}")))?;
    let bytes = runtime.block_on(copy(&server, target))?;
    answer(&format!("{target}: {}\n", sizes::shown(bytes)))
}

/// Copies the database into the folder; how many bytes that were. If it fails, nothing is left.
async fn copy(server: &Server, target: &str) -> Result<u64, Failure> {
    let wrong = |error: io::Error| Failure::Refused(format!("error: {target}: {error}"));
    let said = |error| Failure::Refused(client::said(&error));
    let client = server.connect().await.map_err(said)?;
    let was_there = Path::new(target).exists();
    let folder = Folder::create(target).map_err(wrong)?;
    let _lock = folder.lock().map_err(wrong)?;
    let copied = copy_into(&folder, &client, target).await;
    if copied.is_err() && !was_there {
        // What somebody else has put there meanwhile stays, and the folder with it.
        let _ = std::fs::remove_file(Path::new(target).join("lock"));
        let _ = std::fs::remove_dir(target);
    }
    copied
}

async fn copy_into(folder: &Folder, client: &Client, target: &str) -> Result<u64, Failure> {
    let wrong = |error: io::Error| Failure::Refused(format!("error: {target}: {error}"));
    let said = |error| Failure::Refused(client::said(&error));
    let names = folder.names().map_err(wrong)?;
    if has_database(&names) {
        let text = format!("error: {target}: there is a database in that folder already");
        return Err(Failure::Refused(text));
    }
    if names.iter().any(|name| name == PARTIAL) {
        folder.remove(PARTIAL).map_err(wrong)?;
    }
    let query = "select position, bytes, name from remanent_backup()";
    let none: [&str; 0] = [];
    let mut rows = std::pin::pin!(client.query_raw(query, none).await.map_err(said)?);
    let mut copy = Copy::begin(folder).map_err(wrong)?;
    while let Some(row) = next(&mut rows).await {
        let row = row.inspect_err(|_| copy.give_up()).map_err(said)?;
        copy.take(&row).inspect_err(|_| copy.give_up()).map_err(wrong)?;
    }
    end_progress();
    match copy.is_whole {
        true => Ok(copy.bytes),
        false => {
            copy.give_up();
            Err(Failure::Refused("error: the server gave a part of its backup only".to_owned()))
        }
    }
}

/// The next row of an answer.
async fn next(
    rows: &mut std::pin::Pin<&mut tokio_postgres::RowStream>,
) -> Option<Result<Row, tokio_postgres::Error>> {
    std::future::poll_fn(|context| futures::Stream::poll_next(rows.as_mut(), context)).await
}

/// The copy, as far as it has come.
struct Copy<'f> {
    folder: &'f Folder,
    file: Box<dyn StorageFile>,
    bytes: u64,
    is_whole: bool,
    shown: Instant,
}

impl<'f> Copy<'f> {
    fn begin(folder: &'f Folder) -> io::Result<Self> {
        let file = folder.create(PARTIAL)?;
        Ok(Self { folder, file, bytes: 0, is_whole: false, shown: Instant::now() })
    }

    /// Writes a piece, or ends it.
    fn take(&mut self, row: &Row) -> io::Result<()> {
        let wrong = |text: &str| io::Error::new(io::ErrorKind::InvalidData, text.to_owned());
        let position: Option<i64> = row.try_get(0).map_err(io::Error::other)?;
        let bytes: Option<&[u8]> = row.try_get(1).map_err(io::Error::other)?;
        let name: Option<&str> = row.try_get(2).map_err(io::Error::other)?;
        if position.and_then(|position| u64::try_from(position).ok()) != Some(self.bytes) {
            return Err(wrong("a piece of the backup is missing"));
        }
        match (bytes, name) {
            (Some(bytes), None) => {
                let mut written = 0;
                while written < bytes.len() {
                    match self.file.write_at(self.bytes + written as u64, &bytes[written..])? {
                        0 => return Err(io::ErrorKind::WriteZero.into()),
                        count => written += count,
                    }
                }
                self.bytes += bytes.len() as u64;
                self.show();
                Ok(())
            }
            // What the server names is an image in this folder, or nothing.
            (None, Some(name)) if name.starts_with("image-") && !name.contains(['/', '\\']) => {
                self.file.sync()?;
                self.folder.rename(PARTIAL, name)?;
                self.folder.sync_names()?;
                self.is_whole = true;
                Ok(())
            }
            _ => Err(wrong("the server gave something else than a backup")),
        }
    }

    /// Nothing is left of it.
    fn give_up(&self) {
        end_progress();
        let _ = self.folder.remove(PARTIAL);
    }

    fn show(&mut self) {
        if self.shown.elapsed() >= PROGRESS_TIME && io::stderr().is_terminal() {
            self.shown = Instant::now();
            // If nobody reads it, nobody reads of that either.
            let _ = write!(io::stderr(), "\rcopying: {}\x1b[K", sizes::shown(self.bytes));
        }
    }
}
