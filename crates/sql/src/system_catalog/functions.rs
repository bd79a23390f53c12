//! Functions that clients of PostgreSQL call about its catalog.
//!
//! Each takes numbers and text, row by row, and answers text or truth. What an object is comes from
//! the catalog as it is now.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray, Int64Array, StringViewArray};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};

use super::client_queries::class_number;
use super::pg_catalog::{constraint_text, index_text};
use super::pg_objects::{class_oid, format_type, namespace_oid, type_by_name};
use crate::catalog::snapshot::Snapshot;
use crate::catalog::store::ObjectId;
use crate::catalog::table::type_metadata;
use crate::context::caller::Caller;
use crate::context::settings::Settings;
use crate::error::Result;
use crate::names::Name;
use crate::values::datum::Datum;
use crate::values::sql_type::SqlType;

/// What a function answers for one row's arguments.
/// Says whether the database can only be read, since it follows in its group.
const IN_RECOVERY: &str = "pg_is_in_recovery";

type Answer = fn(&Snapshot, &[Datum]) -> Datum;

/// What a function's answers are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Gives {
    Text,
    Truth,
    Number,
    Json,
}

/// Name, what it gives, and what it answers.
const FUNCTIONS: &[(&str, Gives, Answer)] = &[
    ("format_type", Gives::Text, |_, args| match (number(args, 0), number(args, 1)) {
        (Some(kind), modifier) => format_type(kind, modifier.unwrap_or(-1)).into(),
        (None, _) => Datum::Null,
    }),
    ("pg_get_expr", Gives::Text, |_, args| args.first().cloned().unwrap_or(Datum::Null)),
    ("pg_get_indexdef", Gives::Text, index_definition),
    ("pg_get_constraintdef", Gives::Text, |catalog, args| {
        number(args, 0).and_then(|oid| constraint_text(catalog, oid)).into()
    }),
    ("pg_get_viewdef", Gives::Text, |catalog, args| {
        let oid = number(args, 0);
        let view = catalog.views.iter().find(|(name, _)| Some(class_oid(name)) == oid);
        view.map(|(_, view)| view.query.to_string()).into()
    }),
    ("pg_get_userbyid", Gives::Text, |catalog, args| {
        let role = number(args, 0).and_then(|id| catalog.roles.get(&ObjectId(id)));
        let name = role.map(|role| role.name.clone());
        name.unwrap_or_else(|| super::information::CATALOG.to_owned()).into()
    }),
    ("pg_get_serial_sequence", Gives::Text, serial_sequence),
    ("pg_get_function_result", Gives::Text, |_, _| Datum::Null),
    ("pg_get_partkeydef", Gives::Text, |_, _| Datum::Null),
    ("pg_get_statisticsobjdef_columns", Gives::Text, |_, _| Datum::Null),
    ("pg_encoding_to_char", Gives::Text, |_, _| "UTF8".into()),
    ("pg_relation_size", Gives::Number, |_, _| Datum::Int(0)),
    ("pg_table_size", Gives::Number, |_, _| Datum::Int(0)),
    ("pg_size_pretty", Gives::Text, |_, args| {
        args.first().and_then(Datum::to_text).map(|text| format!("{text} bytes")).into()
    }),
    ("obj_description", Gives::Text, |catalog, args| described(catalog, number(args, 0), 0)),
    ("col_description", Gives::Text, |catalog, args| {
        described(catalog, number(args, 0), number(args, 1).unwrap_or(0))
    }),
    ("shobj_description", Gives::Text, |_, _| Datum::Null),
    ("quote_ident", Gives::Text, |_, args| {
        args.first().and_then(Datum::as_str).map(crate::names::quoted).into()
    }),
    ("pg_table_is_visible", Gives::Truth, visible),
    ("pg_type_is_visible", Gives::Truth, |_, _| true.into()),
    ("pg_function_is_visible", Gives::Truth, |_, _| true.into()),
    ("pg_relation_is_publishable", Gives::Truth, |_, _| false.into()),
    // Asked of the database, below.
    (IN_RECOVERY, Gives::Truth, |_, _| Datum::Null),
    ("pg_collation_is_visible", Gives::Truth, |_, _| true.into()),
    ("pg_is_other_temp_schema", Gives::Truth, |_, _| false.into()),
    ("pg_get_function_arguments", Gives::Text, |_, _| Datum::Null),
    ("pg_get_function_identity_arguments", Gives::Text, |_, _| Datum::Null),
    ("pg_get_triggerdef", Gives::Text, |_, _| Datum::Null),
    ("pg_get_ruledef", Gives::Text, |_, _| Datum::Null),
    ("pg_total_relation_size", Gives::Number, |_, _| Datum::Int(0)),
    ("pg_database_size", Gives::Number, |_, _| Datum::Int(0)),
    ("to_regtype", Gives::Number, |_, args| {
        args.first().and_then(Datum::as_str).and_then(type_by_name).into()
    }),
    ("to_regclass", Gives::Number, |catalog, args| {
        let number = class_number_of(args);
        number.filter(|number| class_name(catalog, *number).is_some()).into()
    }),
    ("regclass_number", Gives::Number, |_, args| class_number_of(args).into()),
    ("regclass_name", Gives::Text, |catalog, args| {
        let oid = class_number_of(args);
        oid.map(|oid| class_name(catalog, oid).unwrap_or_else(|| oid.to_string())).into()
    }),
    ("regtype_name", Gives::Text, |_, args| match args.first().and_then(Datum::as_str) {
        Some(name) => type_by_name(name).map(|kind| format_type(kind, -1)).into(),
        None => number(args, 0)
            .map(|kind| match kind {
                0 => "-".to_owned(),
                kind => format_type(kind, -1),
            })
            .into(),
    }),
    ("regnamespace_name", Gives::Text, |catalog, args| {
        let system = ["information_schema", "pg_catalog"].map(str::to_owned);
        let mut schemas = catalog.schemas.keys().chain(&system);
        let oid = number(args, 0);
        schemas.find(|schema| Some(namespace_oid(schema)) == oid).cloned().into()
    }),
    // Where the name stands in the text, the session's own value is put in before.
    ("current_setting", Gives::Text, |_, args| {
        args.first().and_then(Datum::as_str).and_then(Settings::fixed).into()
    }),
    ("vector_element", Gives::Number, |_, args| {
        let place = number(args, 1).and_then(|place| usize::try_from(place).ok());
        let texts = args.first().and_then(Datum::as_str).map(str::split_whitespace);
        let text = texts.zip(place).and_then(|(mut texts, place)| texts.nth(place));
        text.and_then(|text| text.parse::<i64>().ok()).into()
    }),
    ("as_json", Gives::Json, |_, args| args.first().cloned().unwrap_or(Datum::Null)),
    ("json_build_object", Gives::Json, |_, args| json_object(args)),
];

/// The functions of a caller.
pub(crate) fn functions(caller: &Arc<Caller>) -> Vec<Arc<ScalarUDF>> {
    let make = |&(name, gives, answer): &(&'static str, Gives, Answer)| {
        let signature = Signature::variadic_any(Volatility::Stable);
        let signature = match name {
            IN_RECOVERY => Signature::nullary(Volatility::Stable),
            _ => signature,
        };
        let caller = Arc::clone(caller);
        Arc::new(ScalarUDF::from(CatalogFunction { name, gives, answer, signature, caller }))
    };
    FUNCTIONS.iter().map(make).collect()
}

fn number(args: &[Datum], place: usize) -> Option<i64> {
    match args.get(place)? {
        Datum::Text(text) => text.parse().ok(),
        other => other.as_i64(),
    }
}

/// The number of the table that an argument is the number or the name of.
fn class_number_of(args: &[Datum]) -> Option<i64> {
    match args.first()? {
        Datum::Text(name) => Some(class_number(name, crate::names::PUBLIC)),
        other => other.as_i64(),
    }
}

/// What has this number, as a statement would name it.
fn class_name(catalog: &Snapshot, oid: i64) -> Option<String> {
    let names = catalog.tables.keys().chain(catalog.views.keys()).chain(catalog.sequences.keys());
    let indexes = catalog.tables.iter().flat_map(|(name, table)| {
        table.indexes.iter().map(|index| Name::new(&name.schema, &index.name))
    });
    let found = names.cloned().chain(indexes).find(|name| class_oid(name) == oid)?;
    let quoted = crate::names::quoted(&found.name);
    Some(match found.schema.as_str() {
        crate::names::PUBLIC => quoted,
        schema => format!("{}.{quoted}", crate::names::quoted(schema)),
    })
}

/// Names and values in turn, as an object of JSON.
fn json_object(args: &[Datum]) -> Datum {
    let quoted = |text: &str| {
        let escaped = text.chars().flat_map(|c| match c {
            '"' | '\\' => vec!['\\', c],
            c if c.is_control() => format!("\\u{:04x}", u32::from(c)).chars().collect(),
            c => vec![c],
        });
        format!("\"{}\"", escaped.collect::<String>())
    };
    let pairs = args.chunks(2).map(|pair| {
        let name = quoted(&pair[0].to_text().unwrap_or_default());
        let value = match pair.get(1) {
            None | Some(Datum::Null) => "null".to_owned(),
            Some(Datum::Bool(truth)) => truth.to_string(),
            Some(Datum::Text(text)) => quoted(text),
            Some(number) => number.to_string(),
        };
        format!("{name} : {value}")
    });
    format!("{{{}}}", pairs.collect::<Vec<_>>().join(", ")).into()
}

fn index_definition(catalog: &Snapshot, args: &[Datum]) -> Datum {
    let (Some(oid), column) = (number(args, 0), number(args, 1).unwrap_or(0)) else {
        return Datum::Null;
    };
    for (name, table) in &catalog.tables {
        for index in &table.indexes {
            if class_oid(&Name::new(&name.schema, &index.name)) != oid {
                continue;
            }
            let place = usize::try_from(column).ok().and_then(|column| column.checked_sub(1));
            return match place {
                None => index_text(table, index).into(),
                Some(place) => {
                    let column = index.columns.get(place);
                    column.map(|&column| table.columns[column].name.clone()).into()
                }
            };
        }
    }
    Datum::Null
}

fn serial_sequence(catalog: &Snapshot, args: &[Datum]) -> Datum {
    let table = args.first().and_then(Datum::as_str);
    let column = args.get(1).and_then(Datum::as_str);
    let found = catalog.tables.values().find(|other| {
        Some(other.name.name.as_str()) == table || Some(other.name.to_string().as_str()) == table
    });
    let column = found
        .zip(column)
        .and_then(|(table, column)| table.columns.iter().find(|other| other.name == column));
    let sequence = column.and_then(|column| column.identity.as_ref());
    let sequence = sequence.and_then(|of| catalog.sequence_of(of.sequence));
    sequence.map(|of| format!("{}.{}", of.name.schema, of.name.name)).into()
}

fn described(catalog: &Snapshot, oid: Option<i64>, part: i64) -> Datum {
    for (name, table) in &catalog.tables {
        if Some(class_oid(name)) == oid {
            let column = usize::try_from(part).ok().and_then(|part| part.checked_sub(1));
            return match column {
                None => table.comment.clone().into(),
                Some(column) => {
                    table.columns.get(column).and_then(|column| column.comment.clone()).into()
                }
            };
        }
    }
    for (name, table) in &catalog.tables {
        let is_it = |index: &&crate::catalog::table::Index| {
            Some(class_oid(&Name::new(&name.schema, &index.name))) == oid
        };
        if let Some(index) = table.indexes.iter().find(is_it) {
            return index.comment.clone().into();
        }
    }
    let view = catalog.views.iter().find(|(name, _)| Some(class_oid(name)) == oid);
    view.and_then(|(_, view)| view.comment.clone()).into()
}

fn visible(catalog: &Snapshot, args: &[Datum]) -> Datum {
    let oid = number(args, 0);
    let public = |name: &Name| name.schema == crate::names::PUBLIC;
    let names = catalog.tables.keys().chain(catalog.views.keys()).chain(catalog.sequences.keys());
    let indexes = catalog.tables.iter().flat_map(|(name, table)| {
        table.indexes.iter().map(|index| Name::new(&name.schema, &index.name))
    });
    let mut all = names.cloned().chain(indexes);
    all.any(|name| public(&name) && Some(class_oid(&name)) == oid).into()
}

struct CatalogFunction {
    name: &'static str,
    gives: Gives,
    answer: Answer,
    signature: Signature,
    caller: Arc<Caller>,
}

impl ScalarUDFImpl for CatalogFunction {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> PlanResult<DataType> {
        Ok(match self.gives {
            Gives::Text | Gives::Json => DataType::Utf8View,
            Gives::Truth => DataType::Boolean,
            Gives::Number => DataType::Int64,
        })
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs<'_>) -> PlanResult<FieldRef> {
        let field = Field::new(self.name, self.return_type(&[])?, true);
        Ok(Arc::new(match self.gives {
            Gives::Json => field.with_metadata(type_metadata(&SqlType::Json)),
            _ => field,
        }))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> PlanResult<ColumnarValue> {
        let database = self.caller.database()?;
        let catalog = self.caller.numbering.catalog().unwrap_or_else(|| database.catalog());
        let rows = args.number_rows;
        let arrays = args.args.iter().map(|value| value.clone().into_array(rows));
        let arrays = arrays.collect::<PlanResult<Vec<ArrayRef>>>()?;
        let answers = (0..rows).map(|row| {
            let values = arrays.iter().map(|array| Datum::from_array(array.as_ref(), row));
            let values = values.collect::<Result<Vec<Datum>>>()?;
            Ok(match self.name {
                IN_RECOVERY => (!database.takes_changes()).into(),
                _ => (self.answer)(&catalog, &values),
            })
        });
        let answers = answers.collect::<Result<Vec<Datum>>>()?;
        Ok(ColumnarValue::Array(match self.gives {
            Gives::Truth => {
                let truths = answers.iter().map(|answer| match answer {
                    Datum::Bool(truth) => Some(*truth),
                    _ => None,
                });
                Arc::new(truths.collect::<BooleanArray>())
            }
            Gives::Number => Arc::new(answers.iter().map(Datum::as_i64).collect::<Int64Array>()),
            Gives::Text | Gives::Json => {
                let texts = answers.iter().map(Datum::to_text);
                Arc::new(texts.collect::<StringViewArray>())
            }
        }))
    }
}

impl PartialEq for CatalogFunction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.caller == other.caller
    }
}

impl Eq for CatalogFunction {}

impl std::hash::Hash for CatalogFunction {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl std::fmt::Debug for CatalogFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}
