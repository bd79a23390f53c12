//! What a session has set: SET, SHOW, RESET.
//!
//! Settings that mean something are fields; names that clients of PostgreSQL set or ask for and
//! that change nothing here are kept as they were given.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use datafusion::sql::sqlparser::ast::{Expr, Reset, Set, Value};
use remanent_engine::Durability;

use super::StatementContext;
use super::block::{Block, Level};
use crate::database::{Defaults, Freezing};
use crate::error::{Error, Result, SqlState};
use crate::group::{MAX_STALENESS, READ_AFTER};
use crate::limits::cancel::Limits;
use crate::names::PUBLIC;
use crate::result::answer::Outcome;
use crate::result::rows::{ResultColumn, Rows};
use crate::threads::spare::THREADS_MAX;
use crate::values::datum::Datum;
use crate::values::sql_type::SqlType;

/// The version of PostgreSQL whose protocol and catalogs clients find.
pub(crate) const SERVER_VERSION: &str = "15.0";

/// How queries with parameters are planned.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum PlanCacheMode {
    /// Once for any values, where it was tried that the plan is the same.
    #[default]
    Auto,
    ForceCustom,
    ForceGeneral,
}

impl PlanCacheMode {
    /// Each with the word for it.
    const WORDS: [(Self, &str); 3] = [
        (Self::Auto, "auto"),
        (Self::ForceCustom, "force_custom_plan"),
        (Self::ForceGeneral, "force_generic_plan"),
    ];

    fn of_word(word: &str) -> Option<Self> {
        let word = lower(word.trim());
        Self::WORDS.into_iter().find_map(|(mode, its)| (its == word).then_some(mode))
    }

    fn word(self) -> &'static str {
        Self::WORDS.into_iter().find_map(|(mode, its)| (mode == self).then_some(its)).unwrap_or("")
    }
}

/// A session's settings.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) isolation: Level,
    pub(crate) read_only: bool,
    pub(crate) freezing: Freezing,
    pub(crate) plan_cache_mode: PlanCacheMode,
    /// How many threads a query may have.
    pub(crate) query_threads: usize,
    /// How many bytes a query may hold.
    query_memory: Option<usize>,
    /// What these are where nobody sets them.
    pub(crate) defaults: Defaults,
    pub(crate) statement_timeout: Option<Duration>,
    /// How long a statement at READ COMMITTED waits for rows that others have changed.
    pub(crate) lock_timeout: Option<Duration>,
    /// How old what statements read may be, if that is said.
    pub(crate) max_staleness: Option<Duration>,
    /// How long a transaction block may be without a statement.
    pub(crate) idle_timeout: Option<Duration>,
    /// The same outside a block.
    pub(crate) idle_session_timeout: Option<Duration>,
    pub(crate) search_path: Vec<String>,
    /// How durable commits are; `None` for what the database does.
    pub(crate) durability: Option<Durability>,
    /// Whoever speaks through the session.
    pub(crate) user: String,
    /// The rest, by name.
    others: BTreeMap<String, String>,
}

/// How long a block may be without a statement, as clients of PostgreSQL say it.
const IDLE_TIMEOUT: &str = "idle_in_transaction_session_timeout";

/// How long a session may be without a statement outside a block.
const IDLE_SESSION_TIMEOUT: &str = "idle_session_timeout";

/// The same for a block that has defined something, where nothing was set: it keeps all others from
/// writing.
const IDLE_DEFINING_MAX: Duration = Duration::from_secs(60);

/// Up to where statements see what was committed: a number that only grows, and that means the same
/// in all replicas of a group.
const POSITION: &str = "remanent.position";

/// The position in the log behind what was committed by now: where a change feed would begin that
/// is to show what comes next.
const LSN: &str = "remanent.lsn";

/// Names with a meaning to clients alone, and what they are at first.
const KEPT: &[(&str, &str)] = &[
    ("application_name", ""),
    ("bytea_output", "hex"),
    ("client_encoding", "UTF8"),
    ("client_min_messages", "notice"),
    ("datestyle", "ISO, MDY"),
    ("default_table_access_method", "heap"),
    ("default_tablespace", ""),
    ("extra_float_digits", "1"),
    ("integer_datetimes", "on"),
    ("intervalstyle", "postgres"),
    ("max_identifier_length", "255"),
    ("max_index_keys", "32"),
    (READ_AFTER, ""),
    ("row_security", "off"),
    ("server_encoding", "UTF8"),
    ("server_version", SERVER_VERSION),
    ("server_version_num", "150000"),
    ("standard_conforming_strings", "on"),
    ("timezone", "UTC"),
    ("xmloption", "content"),
];

/// Bytes of settings that mean nothing here, and what each takes beside its name and value.
const OTHERS_BYTES_MAX: usize = 64 << 10;
const OTHER_BYTES: usize = 64;

/// Names of the encoding that text has.
const UTF8: [&str; 3] = ["utf8", "utf-8", "unicode"];

/// Names of the zone that times are shown in.
const UTC: [&str; 6] = ["utc", "gmt", "etc/utc", "z", "0", "default"];

/// Of these, the ones that cannot be set.
const FIXED: &[&str] = &[
    "in_hot_standby",
    "integer_datetimes",
    "is_superuser",
    POSITION,
    LSN,
    "session_authorization",
    "max_identifier_length",
    "default_table_access_method",
    "max_index_keys",
    "server_encoding",
    "server_version",
    "server_version_num",
];

impl Default for Settings {
    fn default() -> Self {
        Self {
            isolation: Level::Serializable,
            read_only: false,
            freezing: Freezing::default(),
            plan_cache_mode: PlanCacheMode::default(),
            query_threads: 1,
            query_memory: None,
            defaults: Defaults::default(),
            statement_timeout: None,
            lock_timeout: None,
            max_staleness: None,
            idle_timeout: None,
            idle_session_timeout: None,
            search_path: vec![PUBLIC.to_owned()],
            durability: None,
            user: "remanent".to_owned(),
            others: BTreeMap::new(),
        }
    }
}

impl Settings {
    /// Those of a new session.
    pub(crate) fn beginning_with(defaults: Defaults) -> Self {
        let Defaults { freezing, query_threads, query_memory, .. } = defaults;
        Self { freezing, query_threads, query_memory, defaults, ..Self::default() }
    }

    /// How far a statement may go.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            timeout: self.statement_timeout,
            patience: self.lock_timeout,
            query_memory: self.query_memory,
        }
    }

    /// The value of a setting, as SHOW says it.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        Some(match name {
            "transaction_isolation" | "default_transaction_isolation" => {
                self.isolation.word().to_owned()
            }
            "transaction_read_only" | "default_transaction_read_only" => on(self.read_only),
            "freeze" => self.freezing.word().to_owned(),
            "plan_cache_mode" => self.plan_cache_mode.word().to_owned(),
            "query_threads" => self.query_threads.to_string(),
            "query_memory" => bytes_text(self.query_memory),
            "statement_timeout" => millis(self.statement_timeout),
            "lock_timeout" => millis(self.lock_timeout),
            MAX_STALENESS => self.max_staleness.map_or("off".to_owned(), |it| millis(Some(it))),
            IDLE_TIMEOUT => millis(self.idle_timeout),
            IDLE_SESSION_TIMEOUT => millis(self.idle_session_timeout),
            "search_path" => self.search_path.join(", "),
            "durability" => self.durability.map_or("default", Durability::name).to_owned(),
            other => {
                let kept = KEPT.iter().find(|(name, _)| *name == other);
                let given = self.others.get(other).cloned();
                given.or_else(|| kept.map(|(_, value)| (*value).to_owned()))?
            }
        })
    }

    /// The value of a setting that no session can change.
    pub(crate) fn fixed(name: &str) -> Option<String> {
        Self::default().get(name).filter(|_| FIXED.contains(&name))
    }

    /// All settings with their values.
    pub(crate) fn all(&self) -> Vec<(String, String)> {
        let own = [
            "default_transaction_isolation",
            "default_transaction_read_only",
            "durability",
            "freeze",
            IDLE_TIMEOUT,
            IDLE_SESSION_TIMEOUT,
            "lock_timeout",
            MAX_STALENESS,
            "plan_cache_mode",
            "query_memory",
            "query_threads",
            "search_path",
            "statement_timeout",
            "transaction_isolation",
        ];
        let names = own.into_iter().chain(KEPT.iter().map(|(name, _)| *name));
        let mut all: Vec<(String, String)> =
            names.filter_map(|name| Some((name.to_owned(), self.get(name)?))).collect();
        all.sort();
        all
    }

    /// Sets a value; none takes back what was set.
    ///
    /// # Errors
    /// `BAD_PARAMETER`; `UNKNOWN_OBJECT` for a name that nobody knows.
    pub(crate) fn set(&mut self, name: &str, values: Option<Vec<String>>) -> Result<()> {
        if FIXED.contains(&name) {
            return Err(cannot_change(name));
        }
        let Some(values) = values else {
            self.reset_one(name);
            return Ok(());
        };
        let value = values.join(", ");
        let bad = || bad_value(name, &value);
        match name {
            "transaction_isolation" | "default_transaction_isolation" => {
                self.isolation = match value.to_lowercase().as_str() {
                    "read uncommitted" | "read committed" => Level::ReadCommitted,
                    "repeatable read" | "snapshot" => Level::RepeatableRead,
                    "serializable" => Level::Serializable,
                    _ => return Err(bad()),
                }
            }
            "transaction_read_only" | "default_transaction_read_only" => {
                self.read_only = truth(&value).ok_or_else(bad)?;
            }
            "freeze" => self.freezing = Freezing::of_word(&value).ok_or_else(bad)?,
            "plan_cache_mode" => {
                self.plan_cache_mode = PlanCacheMode::of_word(&value).ok_or_else(bad)?;
            }
            "query_threads" => {
                self.query_threads = threads(&value).ok_or_else(|| bad().hint(threads_hint()))?
            }
            "query_memory" => {
                self.query_memory = bytes(&value).ok_or_else(|| bad().hint(BYTES_HINT))?;
            }
            "statement_timeout" => self.statement_timeout = timeout(&value).ok_or_else(bad)?,
            "lock_timeout" => self.lock_timeout = timeout(&value).ok_or_else(bad)?,
            MAX_STALENESS => {
                let is_off = value.eq_ignore_ascii_case("off");
                let time = if is_off { None } else { Some(duration(&value).ok_or_else(bad)?) };
                self.max_staleness = time;
            }
            IDLE_TIMEOUT => self.idle_timeout = timeout(&value).ok_or_else(bad)?,
            IDLE_SESSION_TIMEOUT => self.idle_session_timeout = timeout(&value).ok_or_else(bad)?,
            "search_path" => {
                self.search_path = schemas(&values).filter(|schema| schema != "$user").collect();
            }
            "durability" => {
                let level = value.to_lowercase().parse::<Durability>().ok();
                // One machine alone is no group.
                let level = level.filter(|level| self.defaults.is_replica || !level.is_of_group());
                self.durability = Some(level.ok_or_else(bad)?);
            }
            "synchronous_commit" => {
                let level = synchronous(&value, self.defaults.is_replica);
                self.durability = Some(level.ok_or_else(bad)?);
            }
            "client_encoding" if !UTF8.contains(&lower(&value).as_str()) => {
                return Err(bad().hint("Text is UTF-8 here."));
            }
            "timezone" if !UTC.contains(&lower(&value).as_str()) => {
                return Err(bad().hint("Times with a zone are shown in UTC."));
            }
            known if KEPT.iter().any(|(name, _)| *name == known) || known.contains('.') => {
                return self.set_other(name, value);
            }
            _ => {
                let text = format!("unrecognized configuration parameter \"{name}\"");
                return Err(Error::new(SqlState::UNKNOWN_OBJECT, text));
            }
        }
        Ok(())
    }
}

impl Settings {
    /// Keeps a value that means nothing here, of which there may be few.
    fn set_other(&mut self, name: &str, value: String) -> Result<()> {
        let others = self.others.iter().filter(|(other, _)| *other != name);
        let held: usize = others.map(|(name, value)| name.len() + value.len() + OTHER_BYTES).sum();
        if held + name.len() + value.len() + OTHER_BYTES > OTHERS_BYTES_MAX {
            let text = format!("the settings of a session hold at most {OTHERS_BYTES_MAX} bytes");
            return Err(Error::new(SqlState::LIMIT_EXCEEDED, text));
        }
        self.others.insert(name.to_owned(), value);
        Ok(())
    }

    /// The program that has connected, by its own word.
    pub(crate) fn application(&self) -> &str {
        self.others.get("application_name").map_or("", String::as_str)
    }

    fn reset_one(&mut self, name: &str) {
        let initial = Self::default();
        match name {
            "default_transaction_isolation" => self.isolation = initial.isolation,
            "default_transaction_read_only" => self.read_only = initial.read_only,
            "freeze" => self.freezing = self.defaults.freezing,
            "plan_cache_mode" => self.plan_cache_mode = initial.plan_cache_mode,
            "query_threads" => self.query_threads = self.defaults.query_threads,
            "query_memory" => self.query_memory = self.defaults.query_memory,
            "statement_timeout" => self.statement_timeout = None,
            "lock_timeout" => self.lock_timeout = None,
            MAX_STALENESS => self.max_staleness = None,
            IDLE_TIMEOUT => self.idle_timeout = None,
            IDLE_SESSION_TIMEOUT => self.idle_session_timeout = None,
            "search_path" => self.search_path = initial.search_path,
            "durability" | "synchronous_commit" => self.durability = None,
            other => drop(self.others.remove(other)),
        }
    }
}

impl StatementContext {
    /// SET in its forms.
    ///
    /// # Errors
    /// As [`Settings::set`].
    pub(crate) fn set(&mut self, set: &Set) -> Result<Outcome> {
        match set {
            Set::SetTransaction { modes, session: false, .. } => {
                return self.set_transaction(modes);
            }
            Set::SetTransaction { modes, .. } => {
                for mode in modes {
                    use datafusion::sql::sqlparser::ast::{TransactionAccessMode, TransactionMode};
                    match mode {
                        TransactionMode::IsolationLevel(level) => {
                            self.settings.isolation = Level::from_ast(*level);
                        }
                        TransactionMode::AccessMode(mode) => {
                            self.settings.read_only = *mode == TransactionAccessMode::ReadOnly;
                        }
                    }
                }
            }
            Set::SingleAssignment { variable, values, .. } => {
                let name = lower(&variable.to_string());
                self.assign(&name, values)?;
            }
            Set::MultipleAssignments { assignments } => {
                for assignment in assignments {
                    let name = lower(&assignment.name.to_string());
                    self.assign(&name, std::slice::from_ref(&assignment.value))?;
                }
            }
            Set::SetTimeZone { value, .. } => {
                self.assign("timezone", std::slice::from_ref(value))?;
            }
            Set::SetNames { charset_name, .. } => {
                let charset = charset_name.value.clone();
                self.settings.set("client_encoding", Some(vec![charset]))?;
            }
            Set::SetNamesDefault {} => {}
            other => return Err(Error::unsupported(format!("SET {other}"))),
        }
        Ok(Outcome::verb("SET"))
    }

    fn assign(&mut self, name: &str, values: &[Expr]) -> Result<()> {
        let texts: Vec<String> = values.iter().map(text_of).collect();
        let is_default = matches!(texts.as_slice(), [text] if text.eq_ignore_ascii_case("default"));
        if name == READ_AFTER && !is_default {
            self.read_after(&texts.join(", "))?;
        }
        self.settings.set(name, (!is_default).then_some(texts))?;
        self.renew_functions();
        if let (Some(block), "transaction_isolation") = (&mut self.block, name) {
            block.isolation = self.settings.isolation;
        }
        Ok(())
    }

    /// Sets a value from outside, as a client does when it connects.
    ///
    /// # Errors
    /// `BAD_PARAMETER`; `UNKNOWN_OBJECT` for a name that nobody knows.
    pub(crate) fn configure(&mut self, name: &str, value: &str) -> Result<()> {
        if lower(name) == READ_AFTER {
            self.read_after(value)?;
        }
        self.settings.set(&lower(name), Some(vec![value.to_owned()]))?;
        self.renew_functions();
        Ok(())
    }

    /// Waits until statements that follow see the commit at a position, and all before it.
    ///
    /// # Errors
    /// `BAD_PARAMETER`; `ACTIVE_TRANSACTION` in one that keeps an older snapshot; as
    /// [`SqlDatabase::wait_for_position`](crate::database::SqlDatabase::wait_for_position).
    fn read_after(&self, value: &str) -> Result<()> {
        let Ok(position) = value.trim().parse() else { return Err(bad_value(READ_AFTER, value)) };
        let keeps = |block: &Block| block.transaction.is_some() && !block.isolation.refreshes();
        if self.block.as_ref().is_some_and(keeps) {
            let text = "the transaction has its snapshot already";
            let hint = format!("Set {READ_AFTER} before the first statement that reads.");
            return Err(Error::new(SqlState::ACTIVE_TRANSACTION, text).hint(hint));
        }
        self.database.wait_for_position(position, self.cancel())
    }

    /// RESET, of one setting or of all.
    ///
    /// # Errors
    /// `BAD_PARAMETER` for a setting that cannot be changed.
    pub(crate) fn reset(&mut self, reset: &Reset) -> Result<Outcome> {
        match reset {
            Reset::ALL => {
                let user = std::mem::take(&mut self.settings.user);
                let initial = Settings::beginning_with(self.settings.defaults);
                self.settings = Settings { user, ..initial };
                self.renew_functions();
            }
            Reset::ConfigurationParameter(name) => {
                self.settings.set(&lower(&name.to_string()), None)?;
                self.renew_functions();
            }
        }
        Ok(Outcome::verb("RESET"))
    }

    /// The value of a setting.
    pub(crate) fn setting(&self, name: &str) -> Option<String> {
        match lower(name).as_str() {
            "is_superuser" => Some(on(self.is_superuser())),
            // What a commit waits for in truth.
            "synchronous_commit" => {
                let default = self.database.engine.durability();
                Some(on(match default {
                    Durability::Memory => false,
                    default => self.settings.durability.unwrap_or(default) >= Durability::Disk,
                }))
            }
            "in_hot_standby" => Some(on(!self.database.takes_changes())),
            "transaction_read_only" => {
                let is_read_only = match &self.block {
                    Some(block) => block.read_only,
                    None => self.settings.read_only,
                };
                Some(on(is_read_only || !self.database.takes_changes()))
            }
            POSITION => Some(self.database.position().to_string()),
            // Without a log there is none.
            LSN => self.database.engine().change_position().ok().map(|lsn| lsn.to_string()),
            "session_authorization" | "role" => Some(self.settings.user.clone()),
            name => self.settings.get(name),
        }
    }

    /// All settings with their values.
    pub(crate) fn all_settings(&self) -> Vec<(String, String)> {
        let mut all = self.settings.all();
        let more =
            ["in_hot_standby", "is_superuser", "synchronous_commit", "transaction_read_only"];
        for name in more.into_iter().chain([POSITION]) {
            all.extend(self.setting(name).map(|value| (name.to_owned(), value)));
        }
        all.sort();
        all
    }

    /// How long the next statement may be waited for: without a transaction block as long as
    /// `idle_session_timeout` says, and in one as `idle_in_transaction_session_timeout` does. A
    /// block that has defined something keeps all others from writing, and is waited for at most
    /// 60 s.
    ///
    /// # Examples
    /// ```
    /// use remanent_sql::SqlDatabase;
    /// let db = SqlDatabase::in_memory()?;
    /// let mut session = db.session();
    /// session.execute("begin")?;
    /// assert!(session.idle_max().is_none());
    /// session.execute("create table t (a int)")?;
    /// assert_eq!(session.idle_max().map(|max| max.as_secs()), Some(60));
    /// # Ok::<(), remanent_sql::Error>(())
    /// ```
    pub(crate) fn idle_max(&self) -> Option<Duration> {
        if self.block.is_none() {
            return self.settings.idle_session_timeout;
        }
        self.idle_in_transaction_max()
    }

    /// The same for whoever still reads rows of a statement.
    pub(crate) fn idle_in_transaction_max(&self) -> Option<Duration> {
        let defines = self.defining.is_some().then_some(IDLE_DEFINING_MAX);
        self.settings.idle_timeout.or(defines)
    }

    /// Who speaks through the session, which decides what it may do.
    pub(crate) fn set_user(&mut self, user: &str) {
        user.clone_into(&mut self.settings.user);
    }

    /// SHOW.
    ///
    /// # Errors
    /// `UNKNOWN_OBJECT`.
    pub(crate) fn show(&mut self, variable: &[sqlparser::ast::Ident]) -> Result<Outcome> {
        let words: Vec<String> = variable.iter().map(|ident| lower(&ident.value)).collect();
        let name = match words.join(" ").as_str() {
            "transaction isolation level" => "transaction_isolation".to_owned(),
            "time zone" => "timezone".to_owned(),
            _ => words.join("."),
        };
        if name == "all" {
            let columns = ["name", "setting"].map(text_column);
            let rows = self.all_settings().into_iter();
            let rows = rows.map(|(name, value)| vec![name.into(), value.into()]).collect();
            return Ok(Outcome::rows("SHOW", Rows::values(Arc::new(columns), rows)));
        }
        let value = match (&self.block, name.as_str()) {
            (Some(block), "transaction_isolation") => Some(block.isolation.word().to_owned()),
            _ => self.setting(&name),
        };
        let value = value.ok_or_else(|| {
            let text = format!("unrecognized configuration parameter \"{name}\"");
            Error::new(SqlState::UNKNOWN_OBJECT, text)
        })?;
        let rows = [vec![Datum::from(value)]].into();
        Ok(Outcome::rows("SHOW", Rows::values(Arc::new([text_column(&name)]), rows)))
    }
}

/// A column of text in a result.
pub(crate) fn text_column(name: &str) -> ResultColumn {
    ResultColumn { name: name.to_owned(), sql_type: SqlType::Text }
}

fn text_of(value: &Expr) -> String {
    match value {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) | Value::DoubleQuotedString(text) => text.clone(),
            other => other.to_string(),
        },
        Expr::Identifier(ident) => ident.value.clone(),
        other => other.to_string(),
    }
}

fn cannot_change(name: &str) -> Error {
    Error::new(SqlState::BAD_PARAMETER, format!("parameter \"{name}\" cannot be changed"))
}

fn bad_value(name: &str, value: &str) -> Error {
    let text = format!("invalid value for parameter \"{name}\": \"{value}\"");
    Error::new(SqlState::BAD_PARAMETER, text)
}

fn lower(text: &str) -> String {
    text.to_lowercase()
}

fn on(truth: bool) -> String {
    if truth { "on" } else { "off" }.to_owned()
}

fn truth(text: &str) -> Option<bool> {
    match text.to_lowercase().as_str() {
        "on" | "true" | "yes" | "1" | "t" => Some(true),
        "off" | "false" | "no" | "0" | "f" => Some(false),
        _ => None,
    }
}

/// What a commit waits for, as `synchronous_commit` says it.
fn synchronous(text: &str, is_replica: bool) -> Option<Durability> {
    let level = match (truth(text), lower(text).as_str()) {
        (Some(false), _) => Durability::Buffered,
        (None, "local") => Durability::Disk,
        (None, "remote_write") => Durability::Replicated,
        (Some(true), _) | (None, "remote_apply") => Durability::ReplicatedDisk,
        (None, _) => return None,
    };
    // One machine alone has no others to wait for.
    Some(if is_replica { level } else { level.min(Durability::Disk) })
}

/// How many threads a query may have.
fn threads(text: &str) -> Option<usize> {
    text.trim().parse().ok().filter(|threads| (1..=THREADS_MAX).contains(threads))
}

fn threads_hint() -> String {
    format!("A query has 1 to {THREADS_MAX} threads.")
}

/// Units of memory, the largest first, and their bytes.
const UNITS: [(&str, usize); 5] =
    [("TB", 1 << 40), ("GB", 1 << 30), ("MB", 1 << 20), ("kB", 1 << 10), ("B", 1)];

/// What a limit of bytes may be.
const BYTES_HINT: &str = "Units are \"B\", \"kB\", \"MB\", \"GB\" and \"TB\"; 0 is no limit.";

/// A limit of bytes as SET is given it: a number is of kB, as in PostgreSQL, unless a unit follows.
fn bytes(text: &str) -> Option<Option<usize>> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: usize = text[..end].parse().ok()?;
    let unit = Some(text[end..].trim()).filter(|unit| !unit.is_empty()).unwrap_or("kB");
    let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit)?;
    let limit = number.checked_mul(*factor)?;
    Some((limit > 0).then_some(limit))
}

/// The same as SHOW says it, in the largest unit that leaves nothing over.
fn bytes_text(limit: Option<usize>) -> String {
    let Some(limit) = limit else { return "0".to_owned() };
    let unit = UNITS.iter().find(|(_, factor)| limit.is_multiple_of(*factor));
    unit.map_or(String::new(), |(name, factor)| format!("{}{name}", limit / factor))
}

/// The names of a path, without quotes.
fn schemas(values: &[String]) -> impl Iterator<Item = String> {
    let schemas = values.iter().flat_map(|value| value.split(','));
    let schemas = schemas.map(|schema| schema.trim().trim_matches('"').to_owned());
    schemas.filter(|schema| !schema.is_empty())
}

/// A span as settings have it: milliseconds unless a unit follows.
/// A limit as SHOW says it; nought is none.
fn millis(limit: Option<Duration>) -> String {
    limit.map_or("0".to_owned(), |limit| format!("{}ms", limit.as_millis()))
}

/// A limit as SET is given it.
fn timeout(text: &str) -> Option<Option<Duration>> {
    let timeout = duration(text)?;
    Some((!timeout.is_zero()).then_some(timeout))
}

fn duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..end].parse().ok()?;
    let factor = match text[end..].trim() {
        "" | "ms" => 1,
        "s" => 1000,
        "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    Some(Duration::from_millis(number.checked_mul(factor)?))
}
