//! Queries: joins, subqueries, groups, windows, set operations, common table expressions.

use super::expression::{KINDS, Kind, Scope, condition, constant, edge, expression};
use super::schema::World;
use super::{Draw, Statement};

/// The columns of something in FROM.
type Columns = Vec<(String, Kind)>;

impl World {
    /// What can be selected from.
    pub(super) fn sources(&self) -> Vec<(String, Columns)> {
        let columns = |table: &super::schema::Table| {
            table.columns.iter().map(|column| (column.name.clone(), column.kind)).collect()
        };
        let tables = self.tables.iter().map(|table| (table.name.clone(), columns(table)));
        tables.chain(self.views.iter().cloned()).collect()
    }

    /// A query.
    pub(crate) fn query(&self, draw: &mut Draw) -> Statement {
        let scope = Scope { tables: self.sources(), ..Scope::default() };
        let kinds = kinds(draw);
        match draw.below(20) {
            0..=8 => self.selected(draw, &scope, &kinds),
            9..=11 => grouped(draw, &scope),
            12 | 13 => windowed(draw, &scope),
            14 | 15 => self.combined(draw, &scope, &kinds),
            16 => recursive(draw),
            17 => twice(draw, &scope),
            18 => lateral(draw, &scope),
            _ if draw.percent(60) => Statement::query(format!("select {} as o0", edge(draw)), true),
            _ => Statement::query(format!("{} order by 1", values(draw)), false),
        }
    }

    fn selected(&self, draw: &mut Draw, scope: &Scope, kinds: &[Kind]) -> Statement {
        let body = select(draw, scope, kinds, draw_distinct);
        finished(draw, body, kinds.len())
    }

    /// Two or three queries with set operations between them.
    fn combined(&self, draw: &mut Draw, scope: &Scope, kinds: &[Kind]) -> Statement {
        let mut body = select(draw, scope, kinds, |_| "");
        for _ in 0..1 + draw.below(2) {
            let op = *draw.pick(&["union", "union all", "intersect", "except"]);
            let all = if op != "union all" && draw.percent(40) { " all" } else { "" };
            let right = select(draw, scope, kinds, |_| "");
            let op = op.replace(" all", "");
            let all = if all.is_empty() && draw.percent(20) { " all" } else { all };
            body = format!("({body}) {op}{all} ({right})");
        }
        finished(draw, body, kinds.len())
    }

    /// A view's query and columns.
    pub(crate) fn view(&self, draw: &mut Draw) -> (String, Columns) {
        let scope = Scope { tables: self.sources(), ..Scope::default() };
        let kinds = kinds(draw);
        let text = select(draw, &scope, &kinds, |_| "");
        (text, named(&kinds))
    }
}

fn kinds(draw: &mut Draw) -> Vec<Kind> {
    (0..1 + draw.below(4)).map(|_| *draw.pick(&KINDS)).collect()
}

fn named(kinds: &[Kind]) -> Columns {
    kinds.iter().enumerate().map(|(place, kind)| (format!("o{place}"), *kind)).collect()
}

fn draw_distinct(draw: &mut Draw) -> &'static str {
    if draw.percent(15) { "distinct " } else { "" }
}

/// A constant that has its type by itself.
fn typed(draw: &mut Draw, kind: Kind) -> String {
    format!("cast({} as {})", constant(draw, kind), kind.name())
}

/// A query with an order of all its columns, and a part of its rows.
fn finished(draw: &mut Draw, body: String, width: usize) -> Statement {
    if draw.percent(50) {
        return Statement::query(body, false);
    }
    let keys = (1..=width).map(|place| {
        let how = *draw.pick(&["", "", " desc", " nulls first", " desc nulls last"]);
        format!("{place}{how}")
    });
    let mut text = format!("{body} order by {}", keys.collect::<Vec<_>>().join(", "));
    if draw.percent(50) {
        text += &format!(" limit {}", 1 + draw.below(6));
        if draw.percent(40) {
            text += &format!(" offset {}", draw.below(4));
        }
    }
    Statement::query(text, true)
}

/// SELECT .. FROM .. WHERE, with columns of these kinds named o0, o1, ...
fn select(
    draw: &mut Draw,
    scope: &Scope,
    kinds: &[Kind],
    distinct: fn(&mut Draw) -> &'static str,
) -> String {
    let (from, inner) = from(draw, scope);
    let items = kinds.iter().enumerate().map(|(place, kind)| {
        let item = expression(draw, &inner, *kind, 2);
        // What is a constant alone has no type of its own.
        let item = match *kind {
            Kind::Text | Kind::Numeric | Kind::Big | Kind::Small => {
                format!("cast({item} as {})", kind.name())
            }
            _ => item,
        };
        format!("{item} as o{place}")
    });
    let items = items.collect::<Vec<_>>().join(", ");
    let mut text = format!("select {}{items} from {from}", distinct(draw));
    if draw.percent(65) {
        text += &format!(" where {}", condition(draw, &inner, 3));
    }
    text
}

/// A FROM clause, and the scope within the query.
fn from(draw: &mut Draw, scope: &Scope) -> (String, Scope) {
    let letters = ["a", "b", "c"];
    let prefix = match scope.depth {
        0 => "",
        1 => "x",
        _ => "y",
    };
    let mut inner = Scope { depth: scope.depth, ..scope.clone() };
    if scope.depth == 0 || draw.percent(40) {
        inner.columns.clear();
    }
    let mut text = String::new();
    let mut before: Columns = Vec::new();
    let count = if scope.depth == 0 { 1 + draw.below(3) } else { 1 };
    for letter in letters.iter().take(count) {
        let alias = format!("{prefix}{letter}");
        let (source, columns) = source(draw, scope);
        let columns: Columns =
            columns.into_iter().map(|(name, kind)| (format!("{alias}.{name}"), kind)).collect();
        if text.is_empty() {
            text = format!("{source} as {alias}");
        } else {
            let join = *draw.pick(&["join", "left join", "right join", "full join", "cross join"]);
            text = format!("{text} {join} {source} as {alias}");
            if join != "cross join" {
                text += &format!(" on {}", joined(draw, &before, &columns));
            }
        }
        before.extend(columns);
    }
    inner.columns.extend(before);
    (text, inner)
}

/// A condition that a full join takes, too.
fn joined(draw: &mut Draw, left: &Columns, right: &Columns) -> String {
    let pairs: Vec<(&str, &str)> = left
        .iter()
        .flat_map(|(one, kind)| {
            let alike = right.iter().filter(move |(_, other)| other == kind);
            alike.map(move |(other, _)| (one.as_str(), other.as_str()))
        })
        .collect();
    if pairs.is_empty() {
        return format!("({} is null) = ({} is null)", left[0].0, right[right.len() - 1].0);
    }
    let (one, other) = *draw.pick(&pairs);
    format!("{one} = {other}")
}

/// Something to select from, and its columns.
fn source(draw: &mut Draw, scope: &Scope) -> (String, Columns) {
    let (name, columns) = draw.pick(&scope.tables).clone();
    if scope.depth > 0 || draw.percent(85) {
        return (name, columns);
    }
    let kinds = kinds(draw);
    let within = Scope { depth: 1, columns: Vec::new(), tables: scope.tables.clone() };
    (format!("({})", select(draw, &within, &kinds, |_| "")), named(&kinds))
}

fn grouped(draw: &mut Draw, scope: &Scope) -> Statement {
    let (from, inner) = from(draw, scope);
    let keys: Vec<String> =
        (0..draw.below(3)).map(|_| draw.pick(&inner.columns).0.clone()).collect();
    let mut keys = keys;
    keys.sort();
    keys.dedup();
    let mut items = keys.clone();
    for _ in 0..1 + draw.below(3) {
        let mut item = aggregate(draw, &inner);
        if draw.percent(20) {
            item += &format!(" filter (where {})", condition(draw, &plain(&inner), 2));
        }
        items.push(item);
    }
    let width = items.len();
    let items: Vec<String> =
        items.iter().enumerate().map(|(place, item)| format!("{item} as o{place}")).collect();
    let mut text = format!("select {} from {from}", items.join(", "));
    if draw.percent(50) {
        text += &format!(" where {}", condition(draw, &inner, 2));
    }
    if !keys.is_empty() {
        text += &format!(" group by {}", keys.join(", "));
    }
    if draw.percent(30) {
        text +=
            &format!(" having {} {} {}", "count(*)", draw.pick(&[">", "<>", "<="]), draw.below(4));
    }
    finished(draw, text, width)
}

/// A scope without subqueries.
fn plain(scope: &Scope) -> Scope {
    Scope { tables: Vec::new(), ..scope.clone() }
}

fn aggregate(draw: &mut Draw, scope: &Scope) -> String {
    let inner = plain(scope);
    let kind = *draw.pick(&KINDS);
    let number = *draw.pick(&[Kind::Small, Kind::Int, Kind::Big, Kind::Numeric, Kind::Float]);
    let of = |draw: &mut Draw, kind: Kind| {
        let value = expression(draw, &inner, kind, 1);
        format!("cast({value} as {})", kind.name())
    };
    match draw.below(10) {
        0 => "count(*)".to_owned(),
        1 => format!("count({})", of(draw, kind)),
        2 => format!("count(distinct {})", of(draw, kind)),
        3 | 4 => format!("sum({})", of(draw, number)),
        5 => format!("avg({})", of(draw, number)),
        6 | 7 if kind != Kind::Bool => {
            format!("{}({})", *draw.pick(&["min", "max"]), of(draw, kind))
        }
        8 => format!("{}({})", *draw.pick(&["bool_and", "bool_or"]), of(draw, Kind::Bool)),
        _ => {
            let value = of(draw, Kind::Text);
            format!("string_agg({value}, ',' order by {value})")
        }
    }
}

/// Window functions whose answer does not depend on the order of equal rows.
fn windowed(draw: &mut Draw, scope: &Scope) -> Statement {
    let (table, columns) = draw.pick(&scope.tables[..3]).clone();
    let columns = columns.into_iter().map(|(name, kind)| (format!("a.{name}"), kind)).collect();
    let inner = Scope { columns, tables: Vec::new(), depth: 0 };
    let mut items = Vec::new();
    for place in 0..1 + draw.below(3) {
        let key = draw.pick(&inner.columns).0.clone();
        let by = draw.pick(&inner.columns).0.clone();
        let partition =
            if draw.percent(50) { format!("partition by {key} ") } else { String::new() };
        let whole = format!("over ({partition}order by {by}, a.id)");
        let item = match draw.below(11) {
            0 => format!("row_number() {whole}"),
            1 => format!("rank() over ({partition}order by {by})"),
            2 => format!("dense_rank() over ({partition}order by {by} desc)"),
            3 => format!("lag({by}) {whole}"),
            4 => format!("lead({by}, 2) {whole}"),
            5 => format!("first_value({by}) {whole}"),
            6 => format!("ntile(3) {whole}"),
            7 => format!("percent_rank() over ({partition}order by {by})"),
            8 => {
                let frame =
                    draw.pick(&["rows between 1 preceding and 1 following", "rows 2 preceding"]);
                format!("count(*) over ({partition}order by {by}, a.id {frame})")
            }
            9 => format!("{} over ({partition}order by {by})", aggregate_plain(draw, &inner)),
            _ => format!("{} over ({})", aggregate_plain(draw, &inner), partition.trim()),
        };
        items.push(format!("{item} as o{place}"));
    }
    let width = items.len();
    let text = format!("select {} from {table} as a", items.join(", "));
    finished(draw, text, width)
}

fn aggregate_plain(draw: &mut Draw, scope: &Scope) -> String {
    let number = *draw.pick(&[Kind::Small, Kind::Int, Kind::Big, Kind::Numeric]);
    let value = format!("cast({} as {})", expression(draw, scope, number, 1), number.name());
    format!("{}({value})", *draw.pick(&["sum", "avg", "min", "max", "count"]))
}

fn recursive(draw: &mut Draw) -> Statement {
    let (from, to, step) = (draw.below(5), 5 + draw.below(10), 1 + draw.below(3));
    let text = format!(
        "with recursive r(n, t) as \
         (select {from}, 'x' union all select n + {step}, t || 'y' from r \
         where n < {to}) select n, t, length(t) from r order by 1, 2"
    );
    Statement::query(text, true)
}

/// A common table expression that is used twice.
fn twice(draw: &mut Draw, scope: &Scope) -> Statement {
    let kinds = kinds(draw);
    let body = select(draw, scope, &kinds, |_| "");
    let key = draw.below(kinds.len());
    let text = format!(
        "with w as ({body}) select a.o0, b.o{key} from w a left join w b on a.o{key} = b.o{key}"
    );
    finished(draw, text, 2)
}

fn lateral(draw: &mut Draw, scope: &Scope) -> Statement {
    let (one, _) = draw.pick(&scope.tables[..3]).clone();
    let (other, _) = draw.pick(&scope.tables[..3]).clone();
    let text = format!(
        "select a.id, l.n from {one} a cross join lateral \
         (select count(*) as n from {other} b where b.id = a.id) l"
    );
    finished(draw, text, 2)
}

fn values(draw: &mut Draw) -> String {
    let kinds = kinds(draw);
    let rows = (0..2 + draw.below(3)).map(|row| {
        let row = kinds.iter().map(|kind| match row {
            0 => typed(draw, *kind),
            _ if draw.percent(20) => "null".to_owned(),
            _ => constant(draw, *kind),
        });
        format!("({})", row.collect::<Vec<_>>().join(", "))
    });
    let rows = rows.collect::<Vec<_>>().join(", ");
    format!("select * from (values {rows}) v")
}

fn below(scope: &Scope) -> Scope {
    Scope { depth: scope.depth + 1, ..scope.clone() }
}

/// A subquery that is a value.
pub(super) fn scalar(draw: &mut Draw, scope: &Scope, kind: Kind) -> String {
    let (from, inner) = from(draw, &below(scope));
    let inner = plain(&inner);
    let filter = condition(draw, &inner, 2);
    // An aggregate of columns further out alone would be one of the query there.
    let mut own = inner.clone();
    own.columns.retain(|column| !scope.columns.contains(column));
    let value = expression(draw, &own, kind, 1);
    let value = match kind {
        Kind::Bool => format!("bool_or({value})"),
        _ => format!("{}(cast({value} as {}))", *draw.pick(&["min", "max"]), kind.name()),
    };
    format!("(select {value} from {from} where {filter})")
}

pub(super) fn exists(draw: &mut Draw, scope: &Scope) -> String {
    let (from, inner) = from(draw, &below(scope));
    let not = *draw.pick(&["", "not "]);
    format!("({not}exists (select 1 from {from} where {}))", condition(draw, &inner, 2))
}

fn list(draw: &mut Draw, scope: &Scope, kind: Kind) -> String {
    let (from, inner) = from(draw, &below(scope));
    let value = expression(draw, &plain(&inner), kind, 1);
    let mut text = format!("select cast({value} as {}) from {from}", kind.name());
    if draw.percent(60) {
        text += &format!(" where {}", condition(draw, &inner, 2));
    }
    text
}

pub(super) fn member(draw: &mut Draw, scope: &Scope, kind: Kind) -> String {
    let value = expression(draw, &plain(scope), kind, 1);
    let not = *draw.pick(&["", "not "]);
    format!("({value} {not}in ({}))", list(draw, scope, kind))
}

pub(super) fn quantified(draw: &mut Draw, scope: &Scope, kind: Kind) -> String {
    let value = expression(draw, &plain(scope), kind, 1);
    let op = *draw.pick(&["=", "<>", "<", ">="]);
    let how = *draw.pick(&["any", "all"]);
    format!("({value} {op} {how} ({}))", list(draw, scope, kind))
}
