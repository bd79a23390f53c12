//! CREATE, ALTER and DROP ROLE; GRANT and REVOKE.
//!
//! They count at once and for everybody, so they do not run in transaction blocks.

use datafusion::sql::sqlparser::ast::{
    Action, AlterRoleOperation, CreateRole, Expr, GrantObjects, Grantee, GranteeName, Ident,
    ObjectName, ObjectType, Password, Privileges, RoleOption, Statement, Value,
};

use super::{ALL_TABLES, Privilege, Role, grant_name, role, unknown};
use crate::catalog::names::{Name, check_new, fold, quoted};
use crate::catalog::store::Kind;
use crate::error::{Error, Result, SqlState};
use crate::session::answer::Outcome;
use crate::session::statements::Session;

impl Session {
    /// Carries out a statement about roles; `None` for others.
    pub(crate) fn define_access(&mut self, statement: &Statement) -> Option<Result<Outcome>> {
        use Statement as S;
        let done = match statement {
            S::CreateRole(create) => self.in_no_block().and_then(|()| self.create_role(create)),
            S::AlterRole { name, operation } => {
                self.in_no_block().and_then(|()| self.alter_role(name, operation))
            }
            S::Drop { object_type: ObjectType::Role, names, if_exists, .. } => {
                self.in_no_block().and_then(|()| self.drop_roles(names, *if_exists))
            }
            S::Grant(grant) => self.in_no_block().and_then(|()| {
                let what = (&grant.privileges, grant.objects.as_ref());
                self.grant(what, &grant.grantees, true)
            }),
            S::Revoke(revoke) => self.in_no_block().and_then(|()| {
                let what = (&revoke.privileges, revoke.objects.as_ref());
                self.grant(what, &revoke.grantees, false)
            }),
            _ => return None,
        };
        Some(done)
    }

    fn in_no_block(&self) -> Result<()> {
        if self.block.is_none() {
            return Ok(());
        }
        let text = "roles and grants cannot be changed in a transaction block";
        Err(Error::new(SqlState::ACTIVE_TRANSACTION, text).hint("They count at once."))
    }

    fn create_role(&mut self, create: &CreateRole) -> Result<Outcome> {
        let verifier = create.password.as_ref().map(verifier).transpose()?.flatten();
        let made = Role {
            // Whoever is given a password is meant to use it.
            may_log_in: create.login.unwrap_or(create.password.is_some()),
            is_superuser: create.superuser == Some(true),
            verifier,
        };
        for name in &create.names {
            let name = last(name);
            check_new(&name)?;
            if self.database.role(&name).is_some() {
                if create.if_not_exists {
                    continue;
                }
                let text = format!("role {} already exists", quoted(&name));
                return Err(Error::new(SqlState::DUPLICATE_OBJECT, text));
            }
            self.put_role(&name, &made)?;
        }
        Ok(Outcome::verb("CREATE ROLE"))
    }

    fn alter_role(&mut self, name: &Ident, operation: &AlterRoleOperation) -> Result<Outcome> {
        let name = fold(name);
        let mut altered = self.database.role(&name).ok_or_else(|| unknown(&name))?;
        let AlterRoleOperation::WithOptions { options } = operation else {
            return Err(Error::unsupported("this form of ALTER ROLE"));
        };
        for option in options {
            match option {
                RoleOption::Login(may) => altered.may_log_in = *may,
                RoleOption::SuperUser(is) => altered.is_superuser = *is,
                RoleOption::Password(password) => altered.verifier = verifier(password)?,
                RoleOption::Inherit(_) => {}
                other => return Err(Error::unsupported(format!("ALTER ROLE {other}"))),
            }
        }
        self.put_role(&name, &altered)?;
        Ok(Outcome::verb("ALTER ROLE"))
    }

    fn drop_roles(&mut self, names: &[ObjectName], if_exists: bool) -> Result<Outcome> {
        for name in names {
            let name = last(name);
            let removed = self.database.store.remove(Kind::Role, &Name::new("", &name))?;
            if !removed && !if_exists {
                return Err(unknown(&name));
            }
            let catalog = self.database.catalog();
            let grants = catalog
                .roles
                .iter()
                .filter(|object| object.kind == Kind::Grant && object.name.schema == name);
            for grant in grants {
                self.database.store.remove(Kind::Grant, &grant.name)?;
            }
            self.database.refresh_catalog()?;
        }
        Ok(Outcome::verb("DROP ROLE"))
    }

    fn put_role(&self, name: &str, role: &Role) -> Result<()> {
        self.database.store.put(Kind::Role, &Name::new("", name), &role.write())?;
        self.database.refresh_catalog()
    }

    fn grant(
        &mut self,
        (privileges, objects): (&Privileges, Option<&GrantObjects>),
        grantees: &[Grantee],
        gives: bool,
    ) -> Result<Outcome> {
        let privileges = listed(privileges)?;
        let tables = self.granted_tables(objects)?;
        for grantee in grantees {
            let Some(GranteeName::ObjectName(name)) = &grantee.name else {
                return Err(Error::unsupported("GRANT to somebody else than a role"));
            };
            let name = last(name);
            let catalog = self.database.catalog();
            role(&catalog, &name).ok_or_else(|| unknown(&name))?;
            for table in &tables {
                self.change_grant(&grant_name(&name, table), &privileges, gives)?;
            }
            self.database.refresh_catalog()?;
        }
        Ok(Outcome::verb(if gives { "GRANT" } else { "REVOKE" }))
    }

    fn change_grant(&self, name: &Name, privileges: &[Privilege], gives: bool) -> Result<()> {
        let catalog = self.database.catalog();
        let mut grants = catalog.roles.iter().filter(|object| object.kind == Kind::Grant);
        let found = grants.find(|object| object.name == *name);
        let before = found.map_or("", |object| object.definition.as_str());
        let words: Vec<&str> = before.split(',').collect();
        let kept = Privilege::ALL.into_iter().filter(|privilege| {
            let named = privileges.contains(privilege);
            if named { gives } else { words.contains(&privilege.word()) }
        });
        let kept: Vec<&str> = kept.map(Privilege::word).collect();
        match kept.is_empty() {
            true => self.database.store.remove(Kind::Grant, name).map(drop),
            false => self.database.store.put(Kind::Grant, name, &kept.join(",")),
        }
    }

    fn granted_tables(&self, objects: Option<&GrantObjects>) -> Result<Vec<Name>> {
        let catalog = self.database.catalog();
        match objects {
            Some(GrantObjects::Tables(names)) => {
                let known = names.iter().map(|name| {
                    self.existing(&catalog, name).ok_or_else(|| {
                        let text = format!("relation {name} does not exist");
                        Error::new(SqlState::UNKNOWN_TABLE, text)
                    })
                });
                known.collect()
            }
            Some(GrantObjects::AllTablesInSchema { schemas }) => {
                let known = schemas.iter().map(|schema| {
                    let schema = last(schema);
                    catalog.check_schema(&schema)?;
                    Ok(Name::new(schema, ALL_TABLES))
                });
                known.collect()
            }
            _ => Err(Error::unsupported("GRANT on something else than tables")),
        }
    }
}

fn listed(privileges: &Privileges) -> Result<Vec<Privilege>> {
    let Privileges::Actions(actions) = privileges else { return Ok(Privilege::ALL.to_vec()) };
    let known = actions.iter().map(|action| match action {
        Action::Select { columns: None } => Ok(Privilege::Select),
        Action::Insert { columns: None } => Ok(Privilege::Insert),
        Action::Update { columns: None } => Ok(Privilege::Update),
        Action::Delete => Ok(Privilege::Delete),
        other => Err(Error::unsupported(format!("the privilege {other}"))),
    });
    known.collect()
}

/// What is stored of a password; one that is a verifier already is kept as it is.
fn verifier(password: &Password) -> Result<Option<String>> {
    let Password::Password(expression) = password else { return Ok(None) };
    let text = match expression {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    };
    let text = text.ok_or_else(|| Error::unsupported("a password that is no text"))?;
    if text.is_empty() {
        return Ok(None);
    }
    if text.starts_with("SCRAM-SHA-256$") && !text.contains(char::is_whitespace) {
        return Ok(Some(text));
    }
    Ok(Some(postgres_protocol::password::scram_sha_256(text.as_bytes())))
}

fn last(name: &ObjectName) -> String {
    name.0.last().and_then(|part| part.as_ident()).map(fold).unwrap_or_default()
}
