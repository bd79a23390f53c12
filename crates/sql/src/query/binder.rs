//! What names in a statement mean, as DataFusion's binder asks.
//!
//! Tables come from the session's snapshot of the catalog; functions from DataFusion and from us.
//! A view is bound when it is met, as if its text stood there.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::{Statistics, TableReference};
use datafusion::datasource::cte_worktable::CteWorkTable;
use datafusion::datasource::view::ViewTable;
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::error::{DataFusionError, Result as PlanResult};
use datafusion::execution::SessionState;
use datafusion::logical_expr::planner::{ContextProvider, ExprPlanner, TypePlanner};
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{
    AggregateUDF, Expr, HigherOrderUDF, LogicalPlan, LogicalPlanBuilder, ScalarUDF, TableSource,
    WindowUDF,
};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::sql::planner::{ParserOptions, PlannerContext, SqlToRel};
use datafusion::sql::sqlparser::ast;

use super::source::TableSourceOf;
use crate::catalog::names::{Name, fold};
use crate::catalog::snapshot::{Relation, Snapshot, View, unknown_table};
use crate::catalog::table::Table;
use crate::error::{Error, Result, SqlState};

/// The schema in which a statement's own tables stand: the one that is changed, and rows that are
/// at hand.
pub(crate) const OWN_SCHEMA: &str = "\u{1}own";

/// Views within views.
const VIEWS_MAX: usize = 32;

/// A statement's names.
pub(crate) struct Binder<'s> {
    pub(crate) state: &'s SessionState,
    pub(crate) catalog: &'s Arc<Snapshot>,
    /// Where names without a schema are looked for, in this order.
    pub(crate) path: &'s [String],
    /// The statement's own tables.
    own: HashMap<String, Arc<dyn TableSource>>,
    /// Tables made up at the moment: information_schema and the like.
    system: &'s dyn SystemTables,
    views: RefCell<Vec<Name>>,
    /// Whether the query that is being bound names the numbers of rows.
    numbers_rows: Cell<bool>,
}

/// The column of each table that has the numbers of its rows, in statements that name it: by them,
/// network sets tell owners and members.
const ROW_ID: &str = "row_id";

/// Tables that describe the database.
pub(crate) trait SystemTables {
    /// The rows of a table that describes; `None` if there is none of this name.
    ///
    /// # Errors
    /// As the engine.
    fn table(&self, schema: &str, name: &str) -> Result<Option<Arc<MemTable>>>;

    /// What is known of a table's rows.
    fn statistics(&self, table: &Table) -> Option<Arc<Statistics>>;
}

impl<'s> Binder<'s> {
    pub(crate) fn new(
        state: &'s SessionState,
        catalog: &'s Arc<Snapshot>,
        path: &'s [String],
        system: &'s dyn SystemTables,
    ) -> Self {
        let (views, numbers_rows) = (RefCell::new(Vec::new()), Cell::new(false));
        Self { state, catalog, path, own: HashMap::new(), system, views, numbers_rows }
    }

    /// Adds a table of the statement's own.
    pub(crate) fn add_own(&mut self, name: &str, source: Arc<dyn TableSource>) {
        self.own.insert(name.to_owned(), source);
    }

    /// The plan of a query.
    ///
    /// # Errors
    /// What the binder finds wrong.
    pub(crate) fn bind(&self, query: ast::Query) -> Result<LogicalPlan> {
        self.bind_typed(query, Vec::new())
    }

    /// The plan of a query whose parameters have these types, where they are known.
    ///
    /// # Errors
    /// What the binder finds wrong.
    pub(crate) fn bind_typed(
        &self,
        query: ast::Query,
        parameters: Vec<Option<DataType>>,
    ) -> Result<LogicalPlan> {
        let fields = parameters.into_iter().map(|data_type| {
            let field = |data_type| datafusion::arrow::datatypes::Field::new("", data_type, true);
            data_type.map(|data_type| Arc::new(field(data_type)))
        });
        let mut context = PlannerContext::new().with_prepare_param_data_types(fields.collect());
        let planner = SqlToRel::new_with_options(self, options());
        let around = self.numbers_rows.replace(names_row_id(&query));
        let bound = planner.sql_statement_to_plan_with_context(
            ast::Statement::Query(Box::new(query)),
            &mut context,
        );
        self.numbers_rows.set(around);
        Ok(bound?)
    }

    /// An expression over the columns of these schemas.
    ///
    /// # Errors
    /// What the binder finds wrong.
    pub(crate) fn bind_expression(
        &self,
        expression: ast::Expr,
        schema: &datafusion::common::DFSchema,
    ) -> Result<Expr> {
        let planner = SqlToRel::new_with_options(self, options());
        Ok(planner.sql_to_expr(expression, schema, &mut PlannerContext::new())?)
    }

    fn source(&self, name: &TableReference) -> Result<Arc<dyn TableSource>> {
        let table = name.table();
        if name.schema() == Some(OWN_SCHEMA) {
            let own = self.own.get(table);
            return own.cloned().ok_or_else(|| Error::internal(format!("no table {table}")));
        }
        if let Some(schema) = name.schema() {
            return match self.source_in(schema, table)? {
                Some(source) => Ok(source),
                None => {
                    if !["information_schema", "pg_catalog"].contains(&schema) {
                        self.catalog.check_schema(schema)?;
                    }
                    Err(unknown_table(&Name::new(schema, table)))
                }
            };
        }
        for schema in std::iter::once("pg_catalog").chain(self.path.iter().map(String::as_str)) {
            if let Some(source) = self.source_in(schema, table)? {
                return Ok(source);
            }
        }
        let hidden = self.catalog.tables.keys().find(|other| other.name == table);
        let error = unknown_table(&Name::new(crate::catalog::names::PUBLIC, table));
        Err(match hidden {
            Some(other) => error.hint(format!("There is {}.{}.", other.schema, other.name)),
            None => error,
        })
    }

    fn source_in(&self, schema: &str, table: &str) -> Result<Option<Arc<dyn TableSource>>> {
        if let Some(rows) = self.system.table(schema, table)? {
            return Ok(Some(provider_as_source(rows)));
        }
        Ok(match self.catalog.relation(&Name::new(schema, table)) {
            Some(Relation::Table(table)) => {
                let statistics = self.system.statistics(&table);
                Some(match self.numbers_rows.get() && table.column(ROW_ID).is_none() {
                    true => TableSourceOf::numbered(table, ROW_ID, statistics),
                    false => TableSourceOf::plain(table, statistics),
                })
            }
            Some(Relation::View(view)) => Some(self.view(&view)?),
            None => None,
        })
    }

    fn view(&self, view: &View) -> Result<Arc<dyn TableSource>> {
        if self.views.borrow().len() >= VIEWS_MAX {
            let text = format!("view {} contains itself", view.name);
            return Err(Error::new(SqlState::BAD_DEFINITION, text));
        }
        self.views.borrow_mut().push(view.name.clone());
        let bound = self.bind(view.query.clone());
        self.views.borrow_mut().pop();
        let plan = renamed(bound?, &view.columns)?;
        let table = ViewTable::new(plan, Some(view.definition.clone()));
        Ok(provider_as_source(Arc::new(table)))
    }
}

fn names_row_id(query: &ast::Query) -> bool {
    let found = ast::visit_expressions(query, |expr| {
        let last = match expr {
            ast::Expr::Identifier(ident) => Some(ident),
            ast::Expr::CompoundIdentifier(parts) => parts.last(),
            _ => None,
        };
        match last.is_some_and(|ident| fold(ident) == ROW_ID) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    found.is_break()
}

/// The plan with other names for its first columns.
pub(crate) fn renamed(plan: LogicalPlan, names: &[String]) -> Result<LogicalPlan> {
    if names.is_empty() {
        return Ok(plan);
    }
    let columns = plan.schema().columns();
    if names.len() > columns.len() {
        let text = format!("{} names for {} columns", names.len(), columns.len());
        return Err(Error::new(SqlState::BAD_DEFINITION, text));
    }
    let renamed = columns.into_iter().enumerate().map(|(place, column)| match names.get(place) {
        Some(name) => Expr::Column(column).alias(name.as_str()),
        None => Expr::Column(column),
    });
    let renamed: Vec<Expr> = renamed.collect();
    Ok(LogicalPlanBuilder::from(plan).project(renamed)?.build()?)
}

/// How text is read: as PostgreSQL does, numbers with a point as decimals.
fn options() -> ParserOptions {
    ParserOptions::new()
        .with_parse_float_as_decimal(true)
        .with_enable_ident_normalization(true)
        .with_support_varchar_with_length(true)
        .with_map_string_types_to_utf8view(true)
}

impl ContextProvider for Binder<'_> {
    fn get_table_source(&self, name: TableReference) -> PlanResult<Arc<dyn TableSource>> {
        self.source(&name).map_err(DataFusionError::from)
    }

    fn get_table_function_source(
        &self,
        name: &str,
        args: Vec<Expr>,
    ) -> PlanResult<Arc<dyn TableSource>> {
        let Some(function) = self.state.table_functions().get(name) else {
            let text = format!("function {name} does not exist");
            return Err(Error::new(SqlState::UNKNOWN_FUNCTION, text).into());
        };
        // Functions of tables take constants; what can be computed is one.
        let simplifier = ExprSimplifier::new(SimplifyContext::default());
        let args = args.into_iter().map(|arg| simplifier.simplify(arg));
        let args = args.collect::<PlanResult<Vec<_>>>()?;
        let args = datafusion::catalog::TableFunctionArgs::new(&args, self.state);
        Ok(provider_as_source(function.create_table_provider_with_args(args)?))
    }

    fn create_cte_work_table(
        &self,
        name: &str,
        schema: SchemaRef,
    ) -> PlanResult<Arc<dyn TableSource>> {
        Ok(provider_as_source(Arc::new(CteWorkTable::new(name, schema))))
    }

    fn get_expr_planners(&self) -> &[Arc<dyn ExprPlanner>] {
        self.state.expr_planners()
    }

    fn get_type_planner(&self) -> Option<Arc<dyn TypePlanner>> {
        None
    }

    fn get_function_meta(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        self.state.scalar_functions().get(name).cloned()
    }

    fn get_higher_order_meta(&self, name: &str) -> Option<Arc<HigherOrderUDF>> {
        self.state.higher_order_functions().get(name).cloned()
    }

    fn get_aggregate_meta(&self, name: &str) -> Option<Arc<AggregateUDF>> {
        self.state.aggregate_functions().get(name).cloned()
    }

    fn get_window_meta(&self, name: &str) -> Option<Arc<WindowUDF>> {
        self.state.window_functions().get(name).cloned()
    }

    fn get_variable_type(&self, _: &[String]) -> Option<DataType> {
        None
    }

    fn options(&self) -> &ConfigOptions {
        self.state.config_options()
    }

    fn udf_names(&self) -> Vec<String> {
        self.state.scalar_functions().keys().cloned().collect()
    }

    fn higher_order_function_names(&self) -> Vec<String> {
        self.state.higher_order_functions().keys().cloned().collect()
    }

    fn udaf_names(&self) -> Vec<String> {
        self.state.aggregate_functions().keys().cloned().collect()
    }

    fn udwf_names(&self) -> Vec<String> {
        self.state.window_functions().keys().cloned().collect()
    }
}
