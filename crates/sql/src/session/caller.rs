//! Whoever speaks through a session: the role, the client, what was set.
//!
//! A server says who it is when it has asked for a password; a program says nothing and may do
//! everything.

use std::sync::Arc;
use std::time::Duration;

use super::Session;
use crate::activity::{Activity, Client};
use crate::catalog::role::{Actor, Role, unknown_role};
use crate::error::{Error, Result, SqlState};

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
}
