//! Statements with parameters that are described before they run.
//!
//! What was prepared names tables anew whenever it runs; only the way for one key is kept, as long
//! as the catalog is the same.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::sql::sqlparser::ast;

use super::answer::Outcome;
use super::statements::Session;
use crate::catalog::names::fold;
use crate::error::{Error, Result, SqlState};
use crate::point::PointPlan;
use crate::query::running::ResultColumn;
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

impl Session {
    /// Describes a statement; types that are given for its first parameters are kept.
    ///
    /// # Errors
    /// What the binder finds wrong.
    pub fn prepare(&mut self, statement: &Statement, given: &[SqlType]) -> Result<Prepared> {
        let given = with_casts(statement, given);
        let (parameters, columns) = self.describe(&statement.ast, &given)?;
        let point = self.compile_point(statement).map(Arc::new);
        Ok(Prepared { statement: statement.clone(), point, parameters, columns })
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
        let cast = values.iter().zip(&prepared.parameters).map(|(datum, to)| datum.cast(to));
        let cast: Vec<Datum> = cast.collect::<Result<_>>()?;
        self.run(&prepared.statement, &cast).await
    }

    /// Runs a statement about one key that was prepared, without a runtime; `None` if it is none,
    /// and for values of other types than its parameters'.
    pub fn run_prepared_point(
        &mut self,
        prepared: &Prepared,
        values: &[Datum],
    ) -> Option<Result<Outcome>> {
        let point = prepared.point.as_ref()?;
        self.run_point(point, values)
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
                let statement = Statement { ast: (**statement).clone() };
                let prepared = self.prepare(&statement, &given)?;
                self.prepared.insert(name, Arc::new(prepared));
                Ok(Outcome::verb("PREPARE"))
            }
            ast::Statement::Execute { name: Some(name), parameters, .. } => {
                let name = name.to_string();
                let name = name.trim_matches('"').to_lowercase();
                let prepared = self.prepared.get(&name).cloned();
                let prepared = prepared.ok_or_else(|| unknown(&name))?;
                let mut values = Vec::new();
                for parameter in parameters {
                    values.push(self.constant(parameter, outer).await?);
                }
                let cast = values.iter().zip(&prepared.parameters).map(|(v, to)| v.cast(to));
                let cast: Vec<Datum> = cast.collect::<Result<_>>()?;
                self.dispatch(&prepared.statement.ast, &cast).await
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

/// The types that were given, and lists to which parameters are cast: text that is one would become
/// the only element of another.
fn with_casts(statement: &Statement, given: &[SqlType]) -> Vec<SqlType> {
    let mut types = given.to_vec();
    let _ = ast::visit_expressions(&statement.ast, |expr| {
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
