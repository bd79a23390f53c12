//! Statements with parameters that are described before they run.
//!
//! What was prepared names tables anew whenever it runs; only the way for one key is kept, as long
//! as the catalog is the same.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::sql::sqlparser::ast;

use super::Session;
use crate::catalog::written::constant_of;
use crate::error::{Error, Result, SqlState};
use crate::limits::held::Held;
use crate::names::fold;
use crate::point::{PointPlan, run};
use crate::query::{known, select};
use crate::result::answer::Outcome;
use crate::result::rows::ResultColumn;
use crate::stack::{WithRoom, with_room};
use crate::statement::Statement;
use crate::values::datum::Datum;
use crate::values::sql_type::SqlType;

/// A statement with what is known of its parameters and its result.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub(crate) statement: Statement,
    /// The way straight to the engine, if the statement has one.
    pub(crate) point: Option<Arc<PointPlan>>,
    /// The types of its parameters, in order.
    pub parameters: Vec<SqlType>,
    /// What its rows have; empty for statements without rows.
    pub columns: Arc<[ResultColumn]>,
}

/// A statement that PREPARE has made, and the memory that counts for it.
pub(crate) struct Named {
    pub(crate) prepared: Arc<Prepared>,
    _held: Held,
}

/// What a statement is reckoned to take: by itself, and for each of its expressions.
const STATEMENT_BYTES: usize = 8 << 10;
const WORD_BYTES: usize = 1 << 10;

impl Session {
    /// Describes a statement; types that are given for its first parameters are kept.
    ///
    /// # Errors
    /// What the binder finds wrong.
    pub fn prepare(&mut self, statement: &Statement, given: &[SqlType]) -> Result<Prepared> {
        let cancel = Arc::clone(self.context.cancel());
        let settings = &self.context.settings;
        cancel.begin(settings.limits());
        let _entered = cancel.enter();
        with_room(statement.levels, || {
            self.context.renew_rights();
            let point = run::compile_point(&self.context, statement).map(Arc::new);
            let described = point.as_ref().and_then(|point| point.describe(given));
            let (parameters, columns) = match described {
                Some(described) => described,
                None => self.described(statement, given)?,
            };
            Ok(Prepared { statement: statement.clone(), point, parameters, columns })
        })
    }

    /// What a statement is described as, now or when it was described before.
    fn described(
        &mut self,
        statement: &Statement,
        given: &[SqlType],
    ) -> Result<(Vec<SqlType>, Arc<[ResultColumn]>)> {
        if let Some(known) = known::description(&self.context, statement, given) {
            return Ok(known);
        }
        let version = self.context.catalog_version();
        let described = self.describe(&statement.ast, &with_casts(statement, given))?;
        known::keep_description(&self.context, statement, given, version, &described);
        Ok(described)
    }

    /// Whether what was found when a statement about one key was prepared would be found again.
    pub fn is_current(&self, prepared: &Prepared) -> bool {
        let (version, path) = (self.context.catalog_version(), &self.context.settings.search_path);
        prepared.point.as_ref().is_some_and(|point| point.made_for.holds(version, path))
    }

    /// Runs a statement that was prepared.
    ///
    /// # Errors
    /// As [`Session::run`]; `UNKNOWN_PARAMETER` for too few or too many values.
    pub async fn run_prepared(&mut self, prepared: &Prepared, values: &[Datum]) -> Result<Outcome> {
        let wanted = prepared.parameters.len();
        if values.len() != wanted {
            let text = format!("the statement has {wanted} parameters, not {}", values.len());
            return Err(Error::new(SqlState::UNKNOWN_PARAMETER, text));
        }
        if let Some(done) = self.run_prepared_point(prepared, values) {
            return done;
        }
        let cast = as_parameters(values, &prepared.parameters)?;
        self.run(&prepared.statement, &cast).await
    }

    /// Runs a statement about one key that was prepared, without a runtime; `None` if it is none,
    /// and for values that cannot be had by its parameters.
    pub fn run_prepared_point(
        &mut self,
        prepared: &Prepared,
        values: &[Datum],
    ) -> Option<Result<Outcome>> {
        let point = prepared.point.as_ref()?;
        if values.len() != prepared.parameters.len() {
            return None;
        }
        let is_text =
            |(datum, to): (&Datum, &SqlType)| matches!(datum, Datum::Text(_)) && !to.is_text();
        if !values.iter().zip(&prepared.parameters).any(is_text) {
            return run::run_point(&mut self.context, point, values);
        }
        // What is wrong with them, the planner says.
        let cast = as_parameters(values, &prepared.parameters).ok()?;
        run::run_point(&mut self.context, point, &cast)
    }

    /// PREPARE, EXECUTE and DEALLOCATE.
    ///
    /// # Errors
    /// `UNKNOWN_STATEMENT`, `DUPLICATE_STATEMENT`; as the statement itself.
    pub(crate) async fn by_name(
        &mut self,
        statement: &ast::Statement,
        outer: &[Datum],
    ) -> Result<Outcome> {
        match statement {
            ast::Statement::Prepare { name, data_types, statement } => {
                let name = fold(name);
                if self.prepared.contains_key(&name) {
                    let text = format!("prepared statement \"{name}\" already exists");
                    return Err(Error::new(SqlState::DUPLICATE_STATEMENT, text));
                }
                let given: Vec<SqlType> =
                    data_types.iter().map(SqlType::from_ast).collect::<Result<_>>()?;
                let statement = Statement::part((**statement).clone());
                let mut held = self.context.database.hold("a prepared statement");
                held.resize(STATEMENT_BYTES + WORD_BYTES * words(&statement))?;
                let prepared = Arc::new(self.prepare(&statement, &given)?);
                self.prepared.insert(name, Named { prepared, _held: held });
                Ok(Outcome::verb("PREPARE"))
            }
            ast::Statement::Execute { name: Some(name), parameters, .. } => {
                let name = name.to_string();
                let name = name.trim_matches('"').to_lowercase();
                let prepared = self.prepared.get(&name).map(|named| Arc::clone(&named.prepared));
                let prepared = prepared.ok_or_else(|| unknown(&name))?;
                let mut values = Vec::new();
                for parameter in parameters {
                    values.push(match constant_of(parameter) {
                        Some(constant) => constant,
                        None => select::constant(&mut self.context, parameter, outer).await?,
                    });
                }
                if let Some(done) = self.run_prepared_point(&prepared, &values) {
                    return done;
                }
                let cast = as_parameters(&values, &prepared.parameters)?;
                let levels = prepared.statement.levels;
                WithRoom::new(levels, self.dispatch(&prepared.statement.ast, &cast)).await
            }
            ast::Statement::Deallocate { name, .. } => {
                let name = fold(name);
                if name == "all" {
                    self.prepared.clear();
                } else if self.prepared.remove(&name).is_none() {
                    return Err(unknown(&name));
                }
                Ok(Outcome::verb("DEALLOCATE"))
            }
            other => Err(Error::unsupported(other)),
        }
    }
}

/// How many expressions a statement has.
fn words(statement: &Statement) -> usize {
    let mut count = 0;
    let _ = ast::visit_expressions(&*statement.ast, |_| {
        count += 1;
        ControlFlow::<()>::Continue(())
    });
    count
}

/// Values as parameters of these types have them: text is what it spells.
fn as_parameters(values: &[Datum], types: &[SqlType]) -> Result<Vec<Datum>> {
    values.iter().zip(types).map(|(datum, to)| datum.as_parameter(to)).collect()
}

/// The types that were given, and lists to which parameters are cast: text that is one would become
/// the only element of another.
fn with_casts(statement: &Statement, given: &[SqlType]) -> Vec<SqlType> {
    let mut types = given.to_vec();
    let _ = ast::visit_expressions(&*statement.ast, |expr| {
        if let ast::Expr::Cast { expr, data_type: to @ ast::DataType::Array(_), .. } = expr
            && let ast::Expr::Value(value) = expr.as_ref()
            && let ast::Value::Placeholder(name) = &value.value
            && let Ok(number @ 1..=PARAMETERS_MAX) = name.trim_start_matches('$').parse::<usize>()
            && let Ok(to) = SqlType::from_ast(to)
        {
            if types.len() < number {
                types.resize(number, SqlType::Unknown);
            }
            if types[number - 1] == SqlType::Unknown {
                types[number - 1] = to;
            }
        }
        ControlFlow::<()>::Continue(())
    });
    types
}

/// What the protocol can count.
const PARAMETERS_MAX: usize = 65_535;

fn unknown(name: &str) -> Error {
    let text = format!("prepared statement \"{name}\" does not exist");
    Error::new(SqlState::UNKNOWN_STATEMENT, text)
}
