//! What names in a statement mean, as DataFusion's binder asks.
//!
//! Tables come from the session's snapshot of the catalog, as far as the one on whose behalf they
//! are looked up may read them; functions from DataFusion and from us. A view's names mean what
//! they meant when it was made, and are looked up on behalf of its owner.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::{Column, TableReference};
use datafusion::datasource::cte_worktable::CteWorkTable;
use datafusion::datasource::provider_as_source;
use datafusion::datasource::view::ViewTable;
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

use super::{items, rewrite};
use crate::backup;
use crate::catalog::privilege::Privilege;
use crate::catalog::role::Actor;
use crate::catalog::snapshot::Snapshot;
use crate::catalog::snapshot::{Relation, View, unknown_table};
use crate::catalog::store::ObjectId;
use crate::catalog::stored::StoredMeaning;
use crate::catalog::table::Table;
use crate::changes::function as changes;
use crate::context::SessionFunctions;
use crate::context::StatementContext;
use crate::context::caller::Caller;
use crate::error::{Error, Result, SqlState};
use crate::limits::cancel::Cancel;
use crate::names::{Name, fold};
use crate::plan::size;
use crate::privileges::{Access, of_relation};
use crate::rules::coercion::literals;
use crate::rules::groups::grouping_sets::with_columns_for_keys;
use crate::rules::joins::multiplicity;
use crate::scan::provider::TableSourceOf;
use crate::session_functions::backends;
use crate::session_functions::notifications;
use crate::session_functions::rights;
use crate::session_functions::sequences;
use crate::system_catalog;

/// The schema in which a statement's own tables stand: the one that is changed, and rows that are
/// ready.
pub(crate) const OWN_SCHEMA: &str = "\u{1}own";

/// Views within views.
const VIEWS_MAX: usize = 32;

/// Views in one statement, each as often as it is named, in other views too.
const VIEW_NAMES_MAX: usize = 2000;

/// Where the tables are that describe the database.
const SYSTEM_SCHEMAS: [&str; 2] = ["pg_catalog", "information_schema"];

/// A statement's names.
pub(crate) struct Binder<'s> {
    pub(crate) state: &'s SessionState,
    /// What may be read, and where names without a schema are looked for.
    access: Access<'s>,
    functions: &'s SessionFunctions,
    /// The statement's own tables.
    own: HashMap<String, Arc<dyn TableSource>>,
    context: &'s StatementContext,
    /// The views that are being bound, each within the one before.
    views: RefCell<Vec<Arc<View>>>,
    /// What names were found to mean.
    meanings: RefCell<Vec<StoredMeaning>>,
    /// Tables among them that the catalog has no number of.
    unnumbered: RefCell<Vec<Arc<Table>>>,
    /// Views that were bound.
    views_bound: Cell<usize>,
    /// Whether views are bound without regard to their owners' rights.
    describes: bool,
    /// Whether the query that is being bound names the numbers of rows.
    numbers_rows: Cell<bool>,
}

/// The column of each table that has the numbers of its rows, in statements that name it: by them,
/// network sets tell owners and members.
const ROW_ID: &str = "row_id";

impl<'s> Binder<'s> {
    /// The names of a statement of this caller, in this catalog.
    pub(crate) fn of(context: &'s StatementContext, catalog: &'s Snapshot) -> Self {
        Self::new(context, context.access(catalog))
    }

    /// The same with other rights.
    pub(crate) fn new(context: &'s StatementContext, access: Access<'s>) -> Self {
        Self {
            state: &context.state,
            access,
            functions: functions_of(context),
            own: HashMap::new(),
            context,
            views: RefCell::default(),
            views_bound: Cell::new(0),
            meanings: RefCell::default(),
            unnumbered: RefCell::default(),
            describes: false,
            numbers_rows: Cell::new(false),
        }
    }

    /// What the names of tables and views in what was bound mean, those within views left out; and
    /// tables that have no number.
    pub(crate) fn meanings(&self) -> (Vec<StoredMeaning>, Vec<Arc<Table>>) {
        (self.meanings.take(), self.unnumbered.take())
    }

    /// The same to describe what is bound, which is not run: rights that the owner of a view has
    /// lost do not keep anybody from finding out what it means.
    pub(crate) fn describing(self) -> Self {
        Self { describes: true, access: self.access.of(Actor::Program), ..self }
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
        let bound = bound?;
        // Before anything goes through it: named queries may have made it huge.
        size::levels_of(&bound)?;
        Ok(multiplicity::counted(literals::typed(with_columns_for_keys(bound)?)?)?)
    }

    /// The plan of a select list over these rows, whose columns are of several tables.
    ///
    /// # Errors
    /// What the binder finds wrong.
    pub(crate) fn bind_items(
        &self,
        items: Vec<ast::SelectItem>,
        rows: LogicalPlan,
    ) -> Result<LogicalPlan> {
        let planner = SqlToRel::new_with_options(self, options());
        let schema = Arc::clone(rows.schema());
        let mut context = PlannerContext::new();
        let mut bind = |expr| planner.sql_to_expr(expr, &schema, &mut context);
        let mut bound: Vec<Expr> = Vec::new();
        for item in items {
            match item {
                ast::SelectItem::UnnamedExpr(expr) => bound.push(bind(expr)?),
                ast::SelectItem::ExprWithAlias { expr, alias } => {
                    bound.push(bind(expr)?.alias(fold(&alias)));
                }
                ast::SelectItem::Wildcard(_) => {
                    bound.extend(schema.columns().into_iter().map(Expr::Column));
                }
                ast::SelectItem::QualifiedWildcard(
                    ast::SelectItemQualifiedWildcardKind::ObjectName(name),
                    _,
                ) => {
                    let name = name.0.last().and_then(|part| part.as_ident()).map(fold);
                    let name = name.unwrap_or_default();
                    let of_table = TableReference::bare(name.as_str());
                    let columns = schema.fields_with_qualified(&of_table);
                    if columns.is_empty() {
                        let text = format!("missing FROM-clause entry for table \"{name}\"");
                        return Err(Error::new(SqlState::UNKNOWN_TABLE, text));
                    }
                    bound.extend(columns.iter().map(|field| {
                        Expr::Column(Column::new(Some(of_table.clone()), field.name()))
                    }));
                }
                other => return Err(Error::unsupported(format!("{other} here"))),
            }
        }
        let mut seen = items::Seen::default();
        let named = bound.into_iter().map(|expr| {
            let name = expr.schema_name().to_string();
            let name = match &expr {
                Expr::Column(column) => column.name.clone(),
                Expr::Alias(alias) => alias.name.clone(),
                _ => name,
            };
            let again = seen.again(&name);
            if again == 0 { expr } else { expr.unalias().alias(items::marked(&name, again)) }
        });
        let named: Vec<Expr> = named.collect();
        let plan = LogicalPlanBuilder::from(rows).project(named)?.build()?;
        size::levels_of(&plan)?;
        Ok(multiplicity::counted(literals::typed(plan)?)?)
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
        let bound = planner.sql_to_expr(expression, schema, &mut PlannerContext::new())?;
        Ok(literals::typed_expression(bound, schema)?)
    }

    fn source(&self, name: &TableReference) -> Result<Arc<dyn TableSource>> {
        let table = name.table();
        if name.schema() == Some(OWN_SCHEMA) {
            let own = self.own.get(table);
            return own.cloned().ok_or_else(|| Error::internal(format!("no table {table}")));
        }
        let within = self.views.borrow().last().cloned();
        if let Some(view) = within {
            return self.source_within(&view, name);
        }
        if let Some(schema) = name.schema() {
            return match self.source_in(schema, name)? {
                Some(source) => Ok(source),
                None => {
                    if !SYSTEM_SCHEMAS.contains(&schema) {
                        self.access.catalog.check_schema(schema)?;
                    }
                    Err(unknown_table(&Name::new(schema, table)))
                }
            };
        }
        let path = self.access.path.iter().map(String::as_str);
        for schema in std::iter::once("pg_catalog").chain(path) {
            if let Some(source) = self.source_in(schema, name)? {
                return Ok(source);
            }
        }
        let hidden = self.access.catalog.tables.values().find(|other| other.name.name == table);
        let error = unknown_table(&Name::new(crate::names::PUBLIC, table));
        Err(match hidden {
            Some(other) if self.access.uses_schema(&other.name.schema) => {
                error.hint(format!("There is {}.{}.", other.name.schema, other.name.name))
            }
            _ => error,
        })
    }

    /// What a name in a view means.
    fn source_within(&self, view: &View, name: &TableReference) -> Result<Arc<dyn TableSource>> {
        let is_it = |meaning: &&StoredMeaning| {
            meaning.schema.as_deref() == name.schema() && meaning.name == name.table()
        };
        if let Some(meaning) = view.names.iter().find(is_it) {
            let object = ObjectId(meaning.object);
            let relation = self.access.catalog.relation_of(object);
            let gone =
                || unknown_table(&Name::new(name.schema().unwrap_or_default(), name.table()));
            return self.relation(relation.ok_or_else(gone)?);
        }
        let schemas = match name.schema() {
            Some(schema) => vec![schema],
            None => SYSTEM_SCHEMAS.to_vec(),
        };
        for schema in schemas {
            if let Some(rows) = system_catalog::table(self.context, schema, name.table())? {
                return Ok(provider_as_source(rows));
            }
        }
        Err(unknown_table(&Name::new(name.schema().unwrap_or_default(), name.table())))
    }

    fn source_in(
        &self,
        schema: &str,
        name: &TableReference,
    ) -> Result<Option<Arc<dyn TableSource>>> {
        let table = name.table();
        if let Some(rows) = system_catalog::table(self.context, schema, table)? {
            return Ok(Some(provider_as_source(rows)));
        }
        let Some(relation) = self.access.catalog.relation(&Name::new(schema, table)) else {
            return Ok(None);
        };
        self.note_meaning(name, &relation);
        self.relation(relation).map(Some)
    }

    fn note_meaning(&self, name: &TableReference, relation: &Relation) {
        let (_, id, _) = of_relation(relation);
        match (id, relation) {
            (None, Relation::Table(table)) => {
                self.unnumbered.borrow_mut().push(Arc::clone(table));
            }
            (None, Relation::View(_)) => {}
            (Some(object), _) => {
                let schema = name.schema().map(str::to_owned);
                let table = name.table().to_owned();
                let meaning = StoredMeaning { schema, name: table, object: object.0 };
                let mut meanings = self.meanings.borrow_mut();
                if !meanings.contains(&meaning) {
                    meanings.push(meaning);
                }
            }
        }
    }

    fn relation(&self, relation: Relation) -> Result<Arc<dyn TableSource>> {
        match relation {
            Relation::Table(table) => {
                let table = self.reader().table(&table, &[Privilege::Select])?;
                let statistics = self.context.statistics(&table);
                Ok(match self.numbers_rows.get() && table.column(ROW_ID).is_none() {
                    true => TableSourceOf::numbered(table, ROW_ID, statistics),
                    false => TableSourceOf::plain(table, statistics),
                })
            }
            Relation::View(view) => self.view(view),
        }
    }

    /// On whose behalf names are looked up now: within a view, its owner's.
    fn reader(&self) -> Access<'s> {
        match self.views.borrow().last() {
            Some(view) if !self.describes => self.access.of(Actor::owner(view.owner)),
            _ => self.access,
        }
    }

    fn view(&self, view: Arc<View>) -> Result<Arc<dyn TableSource>> {
        self.reader().check_view(&view)?;
        if self.views.borrow().len() >= VIEWS_MAX {
            let text = format!("view {} contains itself", view.name);
            return Err(Error::new(SqlState::BAD_DEFINITION, text));
        }
        self.views_bound.set(self.views_bound.get() + 1);
        if self.views_bound.get() > VIEW_NAMES_MAX {
            let text = "the statement is too complex: its views name too many views";
            return Err(Error::new(SqlState::TOO_COMPLEX, text));
        }
        let query = rewrite::rewritten(self.context, &view.query)?;
        self.views.borrow_mut().push(Arc::clone(&view));
        let bound = self.bind(query);
        self.views.borrow_mut().pop();
        let plan = as_view(bound?, &view)?;
        let table = ViewTable::new(plan, Some(view.to_sql()));
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

/// The plan with the columns that a view has, whatever its query gives beside.
fn as_view(plan: LogicalPlan, view: &View) -> Result<LogicalPlan> {
    let columns = plan.schema().columns();
    let kept = view.columns.iter().map(|wanted| {
        let found = columns.iter().find(|column| column.name == wanted.source);
        let gone = || {
            let text = format!("column {} of view {} is gone", wanted.name, view.name);
            Error::new(SqlState::UNKNOWN_COLUMN, text)
        };
        Ok(Expr::Column(found.ok_or_else(gone)?.clone()).alias(wanted.name.as_str()))
    });
    let kept = kept.collect::<Result<Vec<Expr>>>()?;
    Ok(LogicalPlanBuilder::from(plan).project(kept)?.build()?)
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
        // A statement may name many, each a view of its own.
        Cancel::check_current()?;
        self.source(&name).map_err(DataFusionError::from)
    }

    fn get_table_function_source(
        &self,
        name: &str,
        args: Vec<Expr>,
    ) -> PlanResult<Arc<dyn TableSource>> {
        // Functions of tables take constants; what can be computed is one.
        let simplifier = ExprSimplifier::new(SimplifyContext::default());
        let args = args.into_iter().map(|arg| simplifier.simplify(arg));
        let args = args.collect::<PlanResult<Vec<_>>>()?;
        match name {
            changes::CHANGES => return Ok(changes::source(self.context, &args)?),
            backup::BACKUP => return Ok(backup::source(self.context, &args)?),
            notifications::LISTENING => return Ok(notifications::listening(self.context)?),
            _ => {}
        }
        let Some(function) = self.state.table_functions().get(name) else {
            let text = format!("function {name} does not exist");
            return Err(Error::new(SqlState::UNKNOWN_FUNCTION, text).into());
        };
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
        let own = self.functions.get(name);
        own.or_else(|| self.state.scalar_functions().get(name)).cloned()
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
        self.functions.keys().chain(self.state.scalar_functions().keys()).cloned().collect()
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

/// The functions that know for whom they are called.
pub(crate) fn functions_of(context: &StatementContext) -> &SessionFunctions {
    context.functions.get_or_init(|| made_for(&context.caller))
}

fn made_for(caller: &Arc<Caller>) -> SessionFunctions {
    let all = [
        sequences::functions(caller),
        rights::functions(caller),
        backends::functions(caller),
        notifications::functions(caller),
        system_catalog::functions(caller),
    ];
    let named = |function: Arc<ScalarUDF>| (function.name().to_owned(), function);
    all.into_iter().flatten().map(named).collect()
}
