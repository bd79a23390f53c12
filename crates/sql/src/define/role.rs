//! CREATE, ALTER and DROP ROLE; GRANT and REVOKE.
//!
//! A right is a row of its own, so giving and taking rights at the same time lose nothing of each
//! other; and all are definitions, of which there is one at a time.

use datafusion::sql::sqlparser::ast::{
    Action, AlterRoleOperation, CreateRole, Expr, GrantObjects, Grantee, GranteeName, GranteesType,
    Ident, ObjectName, Owner, Password, Privileges, RoleOption, Value,
};

use crate::catalog::privilege::Privilege;
use crate::catalog::role::Role;
use crate::catalog::role::unknown_role;
use crate::catalog::snapshot::unknown_table;
use crate::catalog::store::{Grant, Kind, NewObject, ObjectId};
use crate::catalog::stored::{self, StoredRole};
use crate::context::StatementContext;
use crate::define::number_schema;
use crate::define::number_table;
use crate::define::rewrite_object;
use crate::error::{Error, Result, SqlState};
use crate::names::{Name, check_new, fold, quoted};
use crate::privileges::{Superuser, of_relation};
use crate::result::answer::Outcome;

/// What means everybody, or nobody, where a role can stand.
const RESERVED: [&str; 2] = ["public", "none"];

/// What a right is given on.
struct Securable {
    kind: Kind,
    id: ObjectId,
}

/// CREATE ROLE.
///
/// # Errors
/// `NO_PRIVILEGE`, `DUPLICATE_OBJECT`, `FEATURE_NOT_SUPPORTED`.
pub(crate) fn create_role(context: &mut StatementContext, create: &CreateRole) -> Result<Outcome> {
    let superuser = context.access(&context.catalog()).superuser()?;
    if let Some(other) = unsupported(create) {
        return Err(Error::unsupported(format!("CREATE ROLE ... {other}")));
    }
    let verifier = create.password.as_ref().map(verifier).transpose()?.flatten();
    for name in &create.names {
        let name = last(name);
        check_new(&name)?;
        if RESERVED.contains(&name.as_str()) {
            let text = format!("role name {} is reserved", quoted(&name));
            return Err(Error::new(SqlState::RESERVED_NAME, text));
        }
        if context.catalog().id_of(Kind::Role, &Name::new("", &name)).is_some() {
            if create.if_not_exists {
                continue;
            }
            let text = format!("role {} already exists", quoted(&name));
            return Err(Error::new(SqlState::DUPLICATE_OBJECT, text));
        }
        let made = StoredRole {
            // Whoever is given a password is meant to use it.
            login: create.login.unwrap_or(create.password.is_some()),
            superuser: create.superuser == Some(true),
            verifier: verifier.clone(),
        };
        add_role(context, &name, &made, superuser)?;
    }
    Ok(Outcome::verb("CREATE ROLE"))
}

fn add_role(
    context: &mut StatementContext,
    name: &str,
    made: &StoredRole,
    _: Superuser,
) -> Result<()> {
    let transaction = context.defining_transaction()?;
    let (kind, name) = (Kind::Role, Name::new("", name));
    let definition = stored::write(made)?;
    let store = &context.database.store;
    let new = NewObject { kind, name: &name, owner: None, engine: None, definition: &definition };
    store.add(&*transaction.writing()?, new)?;
    context.reload()
}

/// ALTER ROLE. A role may give itself another password.
///
/// # Errors
/// `NO_PRIVILEGE`, `UNKNOWN_OBJECT`, `FEATURE_NOT_SUPPORTED`.
pub(crate) fn alter_role(
    context: &mut StatementContext,
    name: &Ident,
    operation: &AlterRoleOperation,
) -> Result<Outcome> {
    let name = fold(name);
    let catalog = context.catalog();
    let AlterRoleOperation::WithOptions { options } = operation else {
        context.access(&catalog).superuser()?;
        return Err(Error::unsupported("this form of ALTER ROLE"));
    };
    let own = catalog
        .role(&name)
        .filter(|role| context.actor == crate::catalog::role::Actor::Role(role.object_id()));
    let only_password = options.iter().all(|option| matches!(option, RoleOption::Password(_)));
    if own.is_none() || !only_password {
        context.access(&catalog).superuser()?;
    }
    let mut altered = catalog.role(&name).cloned().ok_or_else(|| unknown_role(&name))?;
    for option in options {
        match option {
            RoleOption::Login(may) => altered.may_log_in = *may,
            RoleOption::SuperUser(is) => altered.is_superuser = *is,
            RoleOption::Password(password) => altered.verifier = verifier(password)?,
            RoleOption::Inherit(_) => {}
            other => return Err(Error::unsupported(format!("ALTER ROLE {other}"))),
        }
    }
    let Role { id, is_superuser, may_log_in, verifier, .. } = altered;
    let made = StoredRole { login: may_log_in, superuser: is_superuser, verifier };
    rewrite_object(context, ObjectId(id), |object| {
        object.definition = stored::write(&made)?;
        Ok(())
    })?;
    context.reload()?;
    Ok(Outcome::verb("ALTER ROLE"))
}

/// DROP ROLE, with all rights that it was given.
///
/// # Errors
/// `NO_PRIVILEGE`; `DEPENDENT_OBJECTS` for one that owns something; `UNKNOWN_OBJECT`.
pub(crate) fn drop_roles(
    context: &mut StatementContext,
    names: &[ObjectName],
    if_exists: bool,
) -> Result<Outcome> {
    context.access(&context.catalog()).superuser()?;
    for name in names {
        let name = last(name);
        let catalog = context.catalog();
        let Some(id) = catalog.id_of(Kind::Role, &Name::new("", &name)) else {
            if if_exists {
                continue;
            }
            return Err(unknown_role(&name));
        };
        if context.actor == crate::catalog::role::Actor::Role(id) {
            let text = "the role of this session cannot be dropped";
            return Err(Error::new(SqlState::OBJECT_IN_USE, text));
        }
        let transaction = context.defining_transaction()?;
        let objects = context.database.store.contents(&*transaction.reading()?)?.objects;
        let mut owned = objects.iter().filter(|object| object.owner == Some(id));
        if let Some(owned) = owned.next() {
            let text = format!(
                "role {} cannot be dropped because some objects depend on it",
                quoted(&name)
            );
            return Err(Error::new(SqlState::DEPENDENT_OBJECTS, text).detail(format!(
                "owner of {} {}",
                owned.kind.word(),
                owned.name
            )));
        }
        context.database.store.remove(&*transaction.writing()?, id)?;
        context.reload()?;
    }
    Ok(Outcome::verb("DROP ROLE"))
}

/// GRANT and REVOKE.
///
/// # Errors
/// `NO_PRIVILEGE` on what is somebody else's; names that are not there;
/// `FEATURE_NOT_SUPPORTED`.
pub(crate) fn grant(
    context: &mut StatementContext,
    privileges: &Privileges,
    objects: Option<&GrantObjects>,
    grantees: &[Grantee],
    gives: bool,
) -> Result<Outcome> {
    let mut roles = Vec::new();
    for grantee in grantees {
        roles.push(grantee_of(context, grantee)?);
    }
    let objects = securables(context, objects)?;
    let transaction = context.defining_transaction()?;
    for Securable { kind, id: object } in objects {
        for privilege in listed(privileges, kind)? {
            for &role in &roles {
                let right = Grant { role, object, privilege };
                context.database.store.grant(&*transaction.writing()?, right, gives)?;
            }
        }
    }
    context.reload()?;
    Ok(Outcome::verb(if gives { "GRANT" } else { "REVOKE" }))
}

fn grantee_of(context: &StatementContext, grantee: &Grantee) -> Result<ObjectId> {
    match (&grantee.grantee_type, &grantee.name) {
        (GranteesType::Public, _) => Ok(ObjectId::PUBLIC),
        (_, Some(GranteeName::ObjectName(name))) => {
            let quoted = name.0.first().and_then(|part| part.as_ident());
            let is_plain = quoted.is_some_and(|ident| ident.quote_style.is_none());
            let name = last(name);
            if is_plain && name == "public" {
                return Ok(ObjectId::PUBLIC);
            }
            let catalog = context.catalog();
            Ok(catalog.role(&name).ok_or_else(|| unknown_role(&name))?.object_id())
        }
        _ => Err(Error::unsupported("GRANT to somebody else than a role")),
    }
}

/// The objects of a GRANT, each of which the one who asks owns.
fn securables(
    context: &mut StatementContext,
    objects: Option<&GrantObjects>,
) -> Result<Vec<Securable>> {
    let mut found = Vec::new();
    match objects {
        Some(GrantObjects::Tables(names) | GrantObjects::Views(names)) => {
            for name in names {
                found.push(securable_relation(context, name)?);
            }
        }
        Some(GrantObjects::Sequences(names)) => {
            for name in names {
                let catalog = context.catalog();
                let name = Name::from_ast(name, context.current_schema())?;
                let sequence = catalog.sequences.get(&name).ok_or_else(|| unknown_table(&name))?;
                let access = context.access(&catalog);
                access.check_owner("sequence", &name.name, sequence.owner)?;
                found.push(Securable { kind: Kind::Sequence, id: sequence.id });
            }
        }
        Some(GrantObjects::AllTablesInSchema { schemas }) => {
            for schema in schemas {
                let schema = last(schema);
                let catalog = context.catalog();
                catalog.check_schema(&schema)?;
                let names = catalog.tables.keys().chain(catalog.views.keys());
                for name in names.filter(|name| name.schema == schema) {
                    found.push(securable_relation(context, &name.to_ast())?);
                }
            }
        }
        Some(GrantObjects::AllSequencesInSchema { schemas }) => {
            for schema in schemas {
                let schema = last(schema);
                let catalog = context.catalog();
                catalog.check_schema(&schema)?;
                let all = catalog.sequences.values();
                for sequence in all.filter(|sequence| sequence.name.schema == schema) {
                    let access = context.access(&catalog);
                    access.check_owner("sequence", &sequence.name.name, sequence.owner)?;
                    found.push(Securable { kind: Kind::Sequence, id: sequence.id });
                }
            }
        }
        Some(GrantObjects::Schemas(names)) => {
            for name in names {
                found.push(securable_schema(context, &last(name))?);
            }
        }
        _ => return Err(Error::unsupported("GRANT on something of this kind")),
    }
    Ok(found)
}

fn securable_relation(context: &mut StatementContext, name: &ObjectName) -> Result<Securable> {
    let catalog = context.catalog();
    let access = context.access(&catalog);
    let relation = access.relation(name)?;
    let relation = relation.ok_or_else(|| {
        Name::from_ast(name, context.current_schema())
            .map_or_else(|error| error, |name| unknown_table(&name))
    })?;
    let (kind, id, owner) = of_relation(&relation);
    access.check_owner(kind.word(), &last(name), owner)?;
    match (id, &relation) {
        (Some(id), _) => Ok(Securable { kind, id }),
        (None, crate::catalog::snapshot::Relation::Table(table)) => {
            let id = number_table(context, table)?;
            Ok(Securable { kind, id })
        }
        (None, _) => Err(Error::internal("a view without a number")),
    }
}

fn securable_schema(context: &mut StatementContext, schema: &str) -> Result<Securable> {
    let catalog = context.catalog();
    let found = catalog.check_schema(schema)?;
    context.access(&catalog).check_owner("schema", schema, found.owner)?;
    let id = match found.id {
        Some(id) => id,
        None => number_schema(context, schema)?,
    };
    Ok(Securable { kind: Kind::Schema, id })
}

/// The role that an owner's name means.
///
/// # Errors
/// `UNKNOWN_OBJECT`.
pub(crate) fn new_owner(context: &StatementContext, owner: &Owner) -> Result<Option<ObjectId>> {
    match owner {
        Owner::Ident(name) => {
            let name = fold(name);
            let catalog = context.catalog();
            Ok(Some(catalog.role(&name).ok_or_else(|| unknown_role(&name))?.object_id()))
        }
        _ => Ok(context.actor.as_owner()),
    }
}

/// What CREATE ROLE asks for and roles do not have.
fn unsupported(create: &CreateRole) -> Option<&'static str> {
    let asked = [
        (create.bypassrls == Some(true), "BYPASSRLS"),
        (create.create_db == Some(true), "CREATEDB"),
        (create.create_role == Some(true), "CREATEROLE"),
        (create.replication == Some(true), "REPLICATION"),
        (create.connection_limit.is_some(), "CONNECTION LIMIT"),
        (create.valid_until.is_some(), "VALID UNTIL"),
        (!create.in_role.is_empty() || !create.in_group.is_empty(), "IN ROLE"),
        (!create.role.is_empty() || !create.user.is_empty(), "ROLE"),
        (!create.admin.is_empty(), "ADMIN"),
    ];
    asked.into_iter().find(|(is, _)| *is).map(|(_, what)| what)
}

/// The rights that are meant, of those that there are on the kind of object.
fn listed(privileges: &Privileges, kind: Kind) -> Result<Vec<Privilege>> {
    let all = Privilege::on(kind);
    let Privileges::Actions(actions) = privileges else { return Ok(all.to_vec()) };
    let known = actions.iter().map(|action| {
        let privilege = match action {
            Action::Select { columns: None } => Some(Privilege::Select),
            Action::Insert { columns: None } => Some(Privilege::Insert),
            Action::Update { columns: None } => Some(Privilege::Update),
            Action::References { columns: None } => Some(Privilege::References),
            Action::Delete => Some(Privilege::Delete),
            Action::Truncate => Some(Privilege::Truncate),
            Action::Usage => Some(Privilege::Usage),
            Action::Create { obj_type: None } => Some(Privilege::Create),
            _ => None,
        };
        let unknown = || Error::unsupported(format!("the privilege {action}"));
        let privilege = privilege.ok_or_else(unknown)?;
        if !all.contains(&privilege) {
            let text = format!("there is no privilege {action} on a {}", kind.word());
            return Err(Error::new(SqlState::BAD_GRANT, text));
        }
        Ok(privilege)
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
