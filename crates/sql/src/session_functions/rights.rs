//! has_table_privilege and its like: what somebody may do, asked by words.
//!
//! With two arguments they ask for whoever calls them, with three for the role that the first
//! names. Objects are named by their names or by their numbers in `pg_class` and `pg_namespace`.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::catalog::privilege::Privilege;
use crate::catalog::role::Actor;
use crate::catalog::snapshot::{Schema, Snapshot};
use crate::catalog::store::ObjectId;
use crate::context::caller::Caller;
use crate::error::{Error, Result, SqlState};
use crate::names::{Name, PUBLIC};
use crate::privileges::{Access, SecuredObject, of_relation};
use crate::statement;
use crate::system_catalog::{class_oid, namespace_oid};
use crate::values::datum::Datum;

/// What is asked about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum About {
    Table,
    Column,
    Sequence,
    Schema,
    Database,
}

/// The functions of a caller.
pub(crate) fn functions(caller: &Arc<Caller>) -> Vec<Arc<ScalarUDF>> {
    let all = [About::Table, About::Column, About::Sequence, About::Schema, About::Database];
    let make = |about| {
        let signature = Signature::variadic_any(Volatility::Stable);
        let caller = Arc::clone(caller);
        Arc::new(ScalarUDF::from(Asks { about, signature, caller }))
    };
    all.map(make).to_vec()
}

struct Asks {
    about: About,
    signature: Signature,
    caller: Arc<Caller>,
}

impl Asks {
    fn row(&self, catalog: &Snapshot, args: &[Datum]) -> Result<Datum> {
        if args.iter().any(Datum::is_null) {
            return Ok(Datum::Null);
        }
        let own = if self.about == About::Column { 3 } else { 2 };
        let (actor, args) = match args.len() {
            count if count == own => (self.caller.actor, args),
            count if count == own + 1 => (self.role(catalog, &args[0])?, &args[1..]),
            _ => {
                let text = format!("function {} takes {own} arguments or one more", self.name());
                return Err(Error::new(SqlState::UNKNOWN_FUNCTION, text));
            }
        };
        let access = Access { catalog, actor, path: &self.caller.path };
        let words = args.last().and_then(Datum::as_str).unwrap_or_default().to_owned();
        let Some(object) = self.object(access, &args[0])? else { return Ok(Datum::Null) };
        for word in words.split(',') {
            if self.holds(access, object, word.trim())? {
                return Ok(Datum::Bool(true));
            }
        }
        Ok(Datum::Bool(false))
    }

    fn holds(&self, access: Access<'_>, object: SecuredObject, word: &str) -> Result<bool> {
        // Nobody gives rights on.
        if word.to_uppercase().ends_with(" WITH GRANT OPTION") {
            return Ok(access.owns(object.owner));
        }
        if self.about == About::Database {
            return Ok(match word.to_uppercase().as_str() {
                "CONNECT" => true,
                _ => access.actor.is_superuser(access.catalog),
            });
        }
        if word.eq_ignore_ascii_case("TRIGGER") && self.about == About::Table {
            return Ok(access.owns(object.owner));
        }
        let privilege = Privilege::of_word(word).ok_or_else(|| {
            let text = format!("unrecognized privilege type: \"{word}\"");
            Error::new(SqlState::BAD_PARAMETER, text)
        })?;
        if self.about == About::Schema && object.id.is_none() && privilege == Privilege::Usage {
            return Ok(true);
        }
        Ok(access.has(object, privilege))
    }

    fn role(&self, catalog: &Snapshot, named: &Datum) -> Result<Actor> {
        let role = match (named.as_str(), named.as_i64()) {
            (Some(name), _) => catalog.role(name),
            (None, Some(id)) => catalog.roles.get(&ObjectId(id)),
            _ => None,
        };
        let unknown = || {
            let text = format!("role \"{named}\" does not exist");
            Error::new(SqlState::UNKNOWN_OBJECT, text)
        };
        Ok(Actor::Role(role.ok_or_else(unknown)?.object_id()))
    }

    /// The object that is meant; none for a number that nothing has.
    fn object(&self, access: Access<'_>, named: &Datum) -> Result<Option<SecuredObject>> {
        let catalog = access.catalog;
        let unknown =
            |state, what: &str| Error::new(state, format!("{what} {named} does not exist"));
        Ok(match (self.about, named.as_str()) {
            (About::Database, _) => Some(SecuredObject::default()),
            (About::Table | About::Column, Some(text)) => {
                let relation = access.relation(&statement::parse_name(text)?)?;
                let relation =
                    relation.ok_or_else(|| unknown(SqlState::UNKNOWN_TABLE, "relation"))?;
                let (_, id, owner) = of_relation(&relation);
                Some(SecuredObject { id, owner })
            }
            (About::Table | About::Column, None) => {
                let oid = named.as_i64();
                let tables = catalog.tables.values().map(|t| (&t.name, t.id, t.owner));
                let views = catalog.views.values().map(|v| (&v.name, Some(v.id), v.owner));
                let found = tables.chain(views).find(|(name, ..)| Some(class_oid(name)) == oid);
                found.map(|(_, id, owner)| SecuredObject { id, owner })
            }
            (About::Sequence, text) => {
                let name = text.map(statement::parse_name).transpose()?;
                let is_it = |other: &Name| match &name {
                    Some(name) => {
                        let mut path = access.path.iter().map(String::as_str).chain([PUBLIC]);
                        path.any(|schema| Name::from_ast(name, schema).is_ok_and(|n| n == *other))
                    }
                    None => Some(class_oid(other)) == named.as_i64(),
                };
                let found = catalog.sequences.values().find(|sequence| is_it(&sequence.name));
                match (found, text) {
                    (Some(found), _) => {
                        Some(SecuredObject { id: Some(found.id), owner: found.owner })
                    }
                    (None, None) => None,
                    (None, Some(_)) => return Err(unknown(SqlState::UNKNOWN_TABLE, "relation")),
                }
            }
            (About::Schema, Some(text)) => {
                let system = ["pg_catalog", "information_schema"].contains(&text);
                match catalog.schemas.get(text) {
                    Some(schema) => Some(SecuredObject::of_schema(*schema)),
                    None if system => Some(SecuredObject::default()),
                    None => return Err(unknown(SqlState::UNKNOWN_SCHEMA, "schema")),
                }
            }
            (About::Schema, None) => {
                let mut all = catalog.schemas.iter();
                let found = all.find(|(name, _)| Some(namespace_oid(name)) == named.as_i64());
                Some(SecuredObject::of_schema(found.map_or_else(Schema::default, |it| *it.1)))
            }
        })
    }
}

impl ScalarUDFImpl for Asks {
    fn name(&self) -> &str {
        match self.about {
            About::Table => "has_table_privilege",
            About::Column => "has_column_privilege",
            About::Sequence => "has_sequence_privilege",
            About::Schema => "has_schema_privilege",
            About::Database => "has_database_privilege",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> PlanResult<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> PlanResult<ColumnarValue> {
        let database = self.caller.database()?;
        let catalog = self.caller.numbering.catalog().unwrap_or_else(|| database.catalog());
        let rows = args.number_rows;
        let arrays = args.args.iter().map(|value| value.clone().into_array(rows));
        let arrays = arrays.collect::<PlanResult<Vec<ArrayRef>>>()?;
        let answers = (0..rows).map(|row| {
            let values = arrays.iter().map(|array| Datum::from_array(array.as_ref(), row));
            let answer = self.row(&catalog, &values.collect::<Result<Vec<Datum>>>()?)?;
            Ok(match answer {
                Datum::Bool(truth) => Some(truth),
                _ => None,
            })
        });
        let answers = answers.collect::<Result<BooleanArray>>()?;
        Ok(ColumnarValue::Array(Arc::new(answers)))
    }
}

impl PartialEq for Asks {
    fn eq(&self, other: &Self) -> bool {
        self.about == other.about && self.caller == other.caller
    }
}

impl Eq for Asks {}

impl std::hash::Hash for Asks {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.about.hash(state);
        self.caller.session.hash(state);
    }
}

impl std::fmt::Debug for Asks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
