//! Whoever speaks through a session: the role, the client, what was set, what it is told.
//!
//! A server says who it is when it has asked for a password; a program says nothing and may do
//! everything.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Session;
use crate::activity::{Activity, Client};
use crate::catalog::role::{Actor, Role, unknown_role};
use crate::error::{Error, Result, SqlState};
use crate::notifications::Notification;

impl Session {
    /// From now on, statements may do what this role may.
    ///
    /// # Errors
    /// `BAD_AUTHORIZATION` if there is no such role.
    pub fn act_as(&mut self, name: &str) -> Result<()> {
        let role = self.context.database.role(name).ok_or_else(|| unknown_role(name))?;
        self.set_actor(&role);
        Ok(())
    }

    /// The same for a role that has proved its password: it must be as it was then.
    ///
    /// # Errors
    /// `BAD_AUTHORIZATION` if it was dropped or altered meanwhile, or may not log in.
    ///
    /// # Examples
    /// ```
    /// use remanent_sql::SqlDatabase;
    /// let db = SqlDatabase::in_memory()?;
    /// db.session().execute("create role ann password 'secret'")?;
    /// let ann = db.role("ann").unwrap();
    /// assert!(db.session().admit(&ann).is_ok());
    /// db.session().execute("alter role ann nologin")?;
    /// assert!(db.session().admit(&ann).is_err());
    /// # Ok::<(), remanent_sql::Error>(())
    /// ```
    pub fn admit(&mut self, role: &Role) -> Result<()> {
        let now =
            self.context.database.role(&role.name).filter(|now| now == role && now.may_log_in);
        let changed = || {
            let text = "the role was changed while it logged in";
            Error::new(SqlState::BAD_AUTHORIZATION, text)
        };
        self.set_actor(&now.ok_or_else(changed)?);
        Ok(())
    }

    fn set_actor(&mut self, role: &Role) {
        self.context.set_user(&role.name);
        self.context.actor = Actor::Role(role.object_id());
        self.texts.clear();
        self.prepared.clear();
        self.context.renew_functions();
    }

    /// Shows others that this client speaks through the session, by the user that it has now.
    ///
    /// # Examples
    /// ```
    /// use remanent_sql::{Client, SqlDatabase};
    /// let db = SqlDatabase::in_memory()?;
    /// let mut session = db.session();
    /// let wake = Box::new(|| ());
    /// session.connect(Client { process: 7, address: None, port: None, wake });
    /// session.show_running("select 1");
    /// let seen = db.session().query("select pid, query from pg_stat_activity", &[])?;
    /// assert_eq!(seen.rows, [[7.into(), "select 1".into()]]);
    /// # Ok::<(), remanent_sql::Error>(())
    /// ```
    pub fn connect(&mut self, client: Client) {
        let context = &mut self.context;
        context.process = client.process;
        context.notifying.process.store(client.process, Ordering::Relaxed);
        let (user, cancel) = (context.settings.user.clone(), Arc::clone(context.cancel()));
        let activity = Arc::new(Activity::new(client, user, context.actor, cancel));
        context.database.activities.add(&activity);
        context.activity = Some(activity);
        self.show_waiting();
    }

    /// A statement begins, with this text.
    pub fn show_running(&self, text: &str) {
        if let Some(activity) = &self.context.activity {
            activity.show_running(text);
        }
    }

    /// The next statement is waited for.
    pub fn show_waiting(&self) {
        if let Some(activity) = &self.context.activity {
            activity.show_waiting(self.status(), self.context.settings.application());
        }
    }

    /// Sets a value from outside, as a client does when it connects.
    ///
    /// # Errors
    /// `BAD_PARAMETER`; `UNKNOWN_OBJECT` for a name that nobody knows.
    pub fn configure(&mut self, name: &str, value: &str) -> Result<()> {
        self.context.configure(name, value)
    }

    /// The value of a setting.
    pub fn setting(&self, name: &str) -> Option<String> {
        self.context.setting(name)
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
    pub fn idle_max(&self) -> Option<Duration> {
        self.context.idle_max()
    }

    /// The same for whoever still reads rows of a statement.
    pub fn idle_in_transaction_max(&self) -> Option<Duration> {
        self.context.idle_in_transaction_max()
    }

    /// Who speaks through the session, which decides what it may do.
    pub fn set_user(&mut self, user: &str) {
        self.context.set_user(user)
    }

    /// Takes what the session was told since it was asked last, on the channels to which it
    /// listens. Nothing is taken while it is in a transaction block.
    ///
    /// # Examples
    /// ```
    /// use remanent_sql::SqlDatabase;
    /// let db = SqlDatabase::in_memory()?;
    /// let (mut waits, mut works) = (db.session(), db.session());
    /// waits.execute("listen jobs")?;
    /// works.execute("begin; notify jobs, 'number 7'")?;
    /// assert!(waits.take_notifications().is_empty());
    /// works.execute("commit")?;
    /// assert_eq!(waits.take_notifications()[0].payload, "number 7");
    /// # Ok::<(), remanent_sql::Error>(())
    /// ```
    pub fn take_notifications(&mut self) -> Vec<Arc<Notification>> {
        match self.context.block {
            None => self.context.notifying.inbox.take(),
            Some(_) => Vec::new(),
        }
    }

    /// Has this called whenever the session is told something, by whichever thread does so: it is
    /// to be short, and to wait for nothing.
    ///
    /// # Examples
    /// ```
    /// use std::sync::mpsc;
    /// use remanent_sql::SqlDatabase;
    /// let db = SqlDatabase::in_memory()?;
    /// let mut session = db.session();
    /// let (sender, told) = mpsc::channel();
    /// session.on_notification(Box::new(move || sender.send(()).unwrap_or_default()));
    /// session.execute("listen jobs; notify jobs")?;
    /// assert!(told.try_recv().is_ok());
    /// assert_eq!(session.take_notifications().len(), 1);
    /// # Ok::<(), remanent_sql::Error>(())
    /// ```
    pub fn on_notification(&mut self, call: Box<dyn Fn() + Send + Sync>) {
        self.context.notifying.inbox.wake_by(call);
    }

    /// Whether it has listened to anything.
    pub fn has_listened(&self) -> bool {
        self.context.notifying.has_listened()
    }

    /// The answer to a statement has been read: outside a transaction block, what it has asked for
    /// is done. What the next statement would do otherwise.
    ///
    /// # Errors
    /// `LIMIT_EXCEEDED` where too much waits for sessions that listen; then nobody is told.
    pub fn end_statement(&mut self) -> Result<()> {
        self.context.end_statement()
    }

    /// The rows of a statement could not be read to their end: what it has asked for is forgotten.
    pub fn forget_statement(&mut self) {
        self.context.forget_asked();
    }
}
