//! The text, and what is kept from one text to the next.
//!
//! Going through the tables takes as long as scanning them. So it is done again only when what was
//! found is old enough, and never so often that more than a twentieth of one processor goes there.

use std::time::{Duration, Instant};

use remanent_engine::Database;

use crate::metrics::{Tables, text_of};

/// For how long what was found in the tables is good, if nothing else is said.
const TABLES_REFRESH: Duration = Duration::from_secs(5);
/// How many times as long as it took is waited at the least before it is done again.
const PAUSES: u32 = 20;

/// What a database says of itself, as text in the Prometheus exposition format 0.0.4.
///
/// Goes through all tables: takes as long as [`Database::memory_by_table`]. Where that is asked for
/// often, use an [`Exposition`].
///
/// # Examples
/// ```
/// use remanent_engine::{Database, Options};
/// let db = Database::open(Options::new())?;
/// let text = remanent_exporter::prometheus_text(&db);
/// assert!(text.contains("# TYPE remanent_commits_total counter\nremanent_commits_total 0\n"));
/// # Ok::<(), remanent_engine::Error>(())
/// ```
pub fn prometheus_text(db: &Database) -> String {
    Exposition::new().text(db)
}

/// Makes the text again and again, and keeps what was dear to find.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use remanent_engine::{Database, Options, schema::*};
/// use remanent_exporter::Exposition;
/// let db = Database::open(Options::new())?;
/// let mut exposition = Exposition::new().tables_refresh(Duration::from_secs(3600));
/// assert!(!exposition.text(&db).contains("remanent_table_rows"));
/// // Tables are inspected once an hour, the rest each time.
/// db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
/// assert!(!exposition.text(&db).contains("remanent_table_rows"));
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Exposition {
    tables: Option<Tables>,
    found: Option<Instant>,
    refresh: Option<Duration>,
}

impl Exposition {
    /// Nothing is known yet.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Options};
    /// let db = Database::open(Options::new())?;
    /// let mut exposition = remanent_exporter::Exposition::new();
    /// assert!(exposition.text(&db).starts_with("# HELP remanent_info"));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// For how long what was found in the tables is good, 5 seconds if nothing is said. It may be
    /// older: 20 times as long as it took to find.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use remanent_exporter::Exposition;
    /// let exposition = Exposition::new().tables_refresh(Duration::from_secs(60));
    /// ```
    #[must_use]
    pub fn tables_refresh(mut self, time: Duration) -> Self {
        self.refresh = Some(time);
        self
    }

    /// The text of this moment.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Options};
    /// let db = Database::open(Options::new())?;
    /// let text = remanent_exporter::Exposition::new().text(&db);
    /// assert!(text.contains("remanent_memory_bytes{purpose=\"rows\"} 0\n"));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn text(&mut self, db: &Database) -> String {
        if self.is_due() {
            self.look_at_tables(db);
        }
        self.text_as_known(db)
    }

    /// As [`Exposition::text`], with what is known of the tables unless that is nothing.
    pub(crate) fn text_at_once(&mut self, db: &Database) -> String {
        if self.found.is_none() {
            self.look_at_tables(db);
        }
        self.text_as_known(db)
    }

    /// Looks at the tables again if that is due.
    pub(crate) fn follow(&mut self, db: &Database) {
        if self.is_due() {
            self.look_at_tables(db);
        }
    }

    fn text_as_known(&mut self, db: &Database) -> String {
        if let (Some(tables), Some(found)) = (&mut self.tables, self.found) {
            tables.age = found.elapsed();
        }
        text_of(db, self.tables.as_ref())
    }

    fn is_due(&self) -> bool {
        let took = self.tables.as_ref().map_or(Duration::ZERO, |tables| tables.took);
        let pause = self.refresh.unwrap_or(TABLES_REFRESH).max(took.saturating_mul(PAUSES));
        self.found.is_none_or(|found| found.elapsed() >= pause)
    }

    /// If there is no slot for it, what was known before is left as it is.
    fn look_at_tables(&mut self, db: &Database) {
        let begun = Instant::now();
        let found = db.memory_by_table();
        self.found = self.found.or(Some(begun));
        if let Ok(tables) = found {
            self.found = Some(Instant::now());
            self.tables = Some(Tables { tables, age: Duration::ZERO, took: begun.elapsed() });
        }
    }
}
