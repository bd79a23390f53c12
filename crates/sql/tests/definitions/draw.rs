//! Random definitions, as proptest draws and shrinks them.
//!
//! Expressions are texts with marks where a column is to stand. Each has a type (whole number,
//! text, truth), so most of what is drawn means something; what the binder refuses is a case too.

use proptest::prelude::*;
use proptest::sample::select;

use super::words::{ODD, WORDS, quoted};

/// A table with what stands on it.
#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    pub(crate) schema: Option<String>,
    pub(crate) table: String,
    /// Of a number, a text, a truth, and of what is said by `extra`.
    pub(crate) columns: Vec<String>,
    /// Options of each column.
    pub(crate) options: Vec<String>,
    pub(crate) extra: String,
    pub(crate) constraints: Vec<String>,
    pub(crate) view: (String, String),
    pub(crate) sequence: String,
    pub(crate) comment: String,
}

impl Drawn {
    /// A text with the names of the columns where they are marked.
    fn named(&self, text: &str) -> String {
        let mut named = text.to_owned();
        for (place, column) in self.columns.iter().enumerate() {
            named = named.replace(&format!("\u{2}{place}"), &quoted(column));
        }
        named
    }

    pub(crate) fn full(&self, name: &str) -> String {
        match &self.schema {
            Some(schema) => format!("{}.{}", quoted(schema), quoted(name)),
            None => quoted(name),
        }
    }

    /// The statements, one definition each.
    pub(crate) fn statements(&self) -> Vec<String> {
        let types = ["int", "text", "boolean", self.extra.as_str()];
        let columns = self.columns.iter().zip(types).zip(&self.options);
        let mut parts: Vec<String> = columns
            .map(|((column, sql_type), options)| {
                format!("{} {sql_type} {}", quoted(column), self.named(options))
            })
            .collect();
        parts.extend(self.constraints.iter().map(|constraint| self.named(constraint)));
        let table = self.full(&self.table);
        let mut all = Vec::new();
        all.extend(self.schema.as_ref().map(|schema| format!("create schema {}", quoted(schema))));
        all.push(format!("create table {table} ({})", parts.join(", ")));
        let (view, items) = &self.view;
        all.push(format!("create view {} as {}", self.full(view), {
            self.named(items).replace('\u{3}', &table)
        }));
        all.push(format!("create sequence {} increment by 3", self.full(&self.sequence)));
        let comment = self.comment.replace('\'', "''");
        all.push(format!("comment on table {table} is '{comment}'"));
        all.push(format!("comment on column {table}.{} is '{comment}'", quoted(&self.columns[1])));
        all.push(format!(
            "create index {} on {table} ({} desc, {})",
            quoted("an index"),
            quoted(&self.columns[0]),
            quoted(&self.columns[1])
        ));
        all.push(format!("create role {} login", quoted(&self.table)));
        all.push(format!("grant select, update on {table} to {}", quoted(&self.table)));
        all
    }
}

fn name() -> impl Strategy<Value = String> {
    let own = |word: &&str| (*word).to_owned();
    prop_oneof![
        5 => select(WORDS.iter().map(own).collect::<Vec<_>>()),
        3 => select(ODD.iter().map(own).collect::<Vec<_>>()),
        1 => "[a-zA-Z_ ]{1,12}",
    ]
}

/// Literals and columns of a type, 0 to 2 as the columns are; whether columns are allowed.
fn leaf(kind: usize, has_columns: bool) -> BoxedStrategy<String> {
    let literals: &[&str] = match kind {
        0 => &[
            "0",
            "1",
            "-1",
            "2147483647",
            "1e2::int",
            "0x1F",
            "1_000",
            "'12'::int",
            "+3",
            "- - 1",
            "+ - 2",
            "null::int",
            "char_length('abc')",
            "cast('5' as int)",
            "extract(year from date '2020-02-03')::int",
            "(1)",
            "7::smallint::int",
        ],
        1 => &[
            "'a'",
            "''",
            "'it''s'",
            "E'\\n\\\\'",
            "'--'",
            "'/*'",
            "$$dollar$$",
            "$x$'$x$",
            "'ü'",
            "null::text",
            "U&'\\0061'",
            "'a' 'b'",
            "upper('x')",
            "trim(both ' ' from ' x ')",
            "substring('abc' from 2 for 1)",
            "overlay('abc' placing 'x' from 2)",
            "position('b' in 'abc')::text",
            "(date '2020-01-01' + interval '1 day')::text",
            "timestamp '2020-01-01 10:00:00'::text",
            "1.50::numeric(10,2)::text",
            "x'1f'::text",
            "B'101'::text",
            "1.5e3::text",
            "current_date::text",
            "'a' collate \"C\"",
        ],
        _ => &[
            "true",
            "false",
            "null::boolean",
            "'t'::boolean",
            "1 = 1",
            "not false",
            "'2020-01-01'::date < '2020-01-02'::date",
        ],
    };
    let mut all: Vec<String> = literals.iter().map(|text| (*text).to_owned()).collect();
    if has_columns {
        all.extend((0..3).map(|_| format!("\u{2}{kind}")));
    }
    select(all).boxed()
}

/// An operator over expressions of types; the marks are the operands.
const OPERATORS: [&[(&str, &[usize])]; 3] = [
    &[
        ("{} + {}", &[0, 0]),
        ("{} - {}", &[0, 0]),
        ("{} * {}", &[0, 0]),
        ("{} / {}", &[0, 0]),
        ("{} % {}", &[0, 0]),
        ("- {}", &[0]),
        ("+ {}", &[0]),
        ("-{}", &[0]),
        ("({})", &[0]),
        ("{} & {}", &[0, 0]),
        ("{} | {}", &[0, 0]),
        ("{} # {}", &[0, 0]),
        ("{} << {}", &[0, 0]),
        ("{} >> {}", &[0, 0]),
        ("~ {}", &[0]),
        ("abs({})", &[0]),
        ("({})::bigint::int", &[0]),
        ("cast({} as int)", &[0]),
        ("case when {} then {} else {} end", &[2, 0, 0]),
        ("case {} when {} then {} end", &[1, 1, 0]),
        ("coalesce({}, {})", &[0, 0]),
        ("nullif({}, {})", &[0, 0]),
        ("greatest({}, {})", &[0, 0]),
        ("char_length({})", &[1]),
        ("mod({}, {})", &[0, 0]),
        ("({} ^ {})::int", &[0, 0]),
        ("@ {}", &[0]),
    ],
    &[
        ("{} || {}", &[1, 1]),
        ("({})", &[1]),
        ("upper({})", &[1]),
        ("({})::text", &[0]),
        ("({})::varchar(10)", &[1]),
        ("substring({} from {} for {})", &[1, 0, 0]),
        ("substr({}, {})", &[1, 0]),
        ("trim({})", &[1]),
        ("trim(leading {} from {})", &[1, 1]),
        ("case when {} then {} else {} end", &[2, 1, 1]),
        ("coalesce({}, {})", &[1, 1]),
        ("replace({}, {}, {})", &[1, 1, 1]),
        ("concat({}, {})", &[1, 1]),
        ("left({}, {})", &[1, 0]),
        ("overlay({} placing {} from {})", &[1, 1, 0]),
        ("nullif({}, {})", &[1, 1]),
        ("lower({}) collate \"C\"", &[1]),
        ("(({})::text)", &[2]),
        ("repeat({}, 1)", &[1]),
    ],
    &[
        ("{} and {}", &[2, 2]),
        ("{} or {}", &[2, 2]),
        ("not {}", &[2]),
        ("({})", &[2]),
        ("{} = {}", &[0, 0]),
        ("{} <> {}", &[0, 0]),
        ("{} != {}", &[1, 1]),
        ("{} < {}", &[0, 0]),
        ("{} <= {}", &[1, 1]),
        ("{} > {}", &[0, 0]),
        ("{} >= {}", &[0, 0]),
        ("{} between {} and {}", &[0, 0, 0]),
        ("{} not between {} and {}", &[0, 0, 0]),
        ("{} between symmetric {} and {}", &[0, 0, 0]),
        ("{} in ({}, {})", &[0, 0, 0]),
        ("{} not in ({}, {})", &[1, 1, 1]),
        ("{} like {}", &[1, 1]),
        ("{} not like {}", &[1, 1]),
        ("{} ilike {}", &[1, 1]),
        ("{} like {} escape '!'", &[1, 1]),
        ("{} similar to {}", &[1, 1]),
        ("{} ~ {}", &[1, 1]),
        ("{} !~ {}", &[1, 1]),
        ("{} ~* {}", &[1, 1]),
        ("{} !~* {}", &[1, 1]),
        ("{} ~~ {}", &[1, 1]),
        ("{} is null", &[0]),
        ("{} is not null", &[1]),
        ("{} isnull", &[1]),
        ("{} notnull", &[0]),
        ("{} is true", &[2]),
        ("{} is not false", &[2]),
        ("{} is unknown", &[2]),
        ("{} is distinct from {}", &[0, 0]),
        ("{} is not distinct from {}", &[1, 1]),
        ("{} = any (array[{}, {}])", &[0, 0, 0]),
        ("({}, {}) = ({}, {})", &[0, 1, 0, 1]),
        ("({})::boolean", &[2]),
        ("case when {} then {} else {} end", &[2, 2, 2]),
        ("coalesce({}, {})", &[2, 2]),
        ("starts_with({}, {})", &[1, 1]),
        ("position({} in {}) > 0", &[1, 1]),
        ("{} <> all (array[{}])", &[0, 0]),
    ],
];

/// An expression of a type, at most so deep.
fn expression(kind: usize, depth: u32, has_columns: bool) -> BoxedStrategy<String> {
    if depth == 0 {
        return leaf(kind, has_columns);
    }
    let operated = select(OPERATORS[kind].to_vec()).prop_flat_map(move |(form, kinds)| {
        let operands: Vec<BoxedStrategy<String>> =
            kinds.iter().map(|&kind| expression(kind, depth - 1, has_columns)).collect();
        operands.prop_map(move |operands| {
            let mut text = String::new();
            let mut pieces = form.split("{}");
            text.push_str(pieces.next().unwrap_or_default());
            for (operand, piece) in operands.iter().zip(pieces) {
                text.push_str(operand);
                text.push_str(piece);
            }
            text
        })
    });
    prop_oneof![1 => leaf(kind, has_columns), 2 => operated].boxed()
}

/// An expression with some operator nested in itself up to fifty times.
fn nested(kind: usize, has_columns: bool) -> BoxedStrategy<String> {
    let forms: Vec<(&str, &[usize])> = OPERATORS[kind].to_vec();
    (leaf(kind, has_columns), select(forms), leaf(kind, has_columns), 1..50_usize)
        .prop_map(move |(inner, (form, kinds), other, depth)| {
            let place = kinds.iter().position(|operand| *operand == kind);
            // The parser reads the first argument of a call twice, and those within it again.
            let is_call = form.starts_with(char::is_alphabetic) && form.contains('(');
            let depth = if is_call { depth.min(6) } else { depth };
            let mut text = inner;
            for _ in 0..depth {
                let mut made = String::new();
                for (number, piece) in form.split("{}").enumerate() {
                    if number > 0 {
                        let is_here = Some(number - 1) == place;
                        let others = ["1", "'x'", "true"];
                        let same = kinds[number - 1] == kind;
                        let operand = if same { other.as_str() } else { others[kinds[number - 1]] };
                        made.push_str(if is_here { &text } else { operand });
                    }
                    made.push_str(piece);
                }
                if place.is_none() {
                    break;
                }
                text = made;
            }
            text
        })
        .boxed()
}

fn any_expression(kind: usize, has_columns: bool) -> BoxedStrategy<String> {
    prop_oneof![
        3 => expression(kind, 3, has_columns),
        1 => expression(kind, 5, has_columns),
        2 => nested(kind, has_columns),
    ]
    .boxed()
}

/// What may stand behind a column of the type.
fn options(kind: usize) -> BoxedStrategy<String> {
    prop_oneof![
        2 => Just(String::new()),
        4 => any_expression(kind, false).prop_map(|text| format!("default ({text})")),
        2 => expression(kind, 1, false).prop_map(|text| format!("default {text}")),
        1 => Just("not null unique".to_owned()),
        2 => any_expression(2, true).prop_map(|text| format!("check ({text})")),
    ]
    .boxed()
}

fn extra() -> BoxedStrategy<(String, String)> {
    let plain = |kind: &str, options: &str| (kind.to_owned(), options.to_owned());
    let fixed = vec![
        plain("serial", ""),
        plain("bigint", "generated always as identity"),
        plain("int", "generated by default as identity (start 5 increment -2 maxvalue 90)"),
        plain("numeric(12, 3)", "default 1.50"),
        plain("numeric", "default -0.5"),
        plain("varchar(7)", "default 'x'"),
        plain("char(3)", "default 'x'"),
        plain("double precision", "default 1e10"),
        plain("real", "default -1.5"),
        plain("date", "default date '2020-02-29'"),
        plain("date", "default '2020-02-29'"),
        plain("timestamp", "default timestamp '2020-02-29 12:30:00.5'"),
        plain("timestamp(3) with time zone", "default now()"),
        plain("time", "default '12:30:00'"),
        plain("interval", "default interval '1 day'"),
        plain("bytea", "default '\\x00ff'"),
        plain("smallint", "default 1 check (true)"),
        plain("uuid", "default '00000000-0000-0000-0000-000000000001'"),
        plain("timestamp without time zone", "default current_timestamp"),
    ];
    let generated = |kind: usize, of: &'static str| {
        any_expression(kind, true)
            .prop_map(move |text| (of.to_owned(), format!("generated always as ({text}) stored")))
    };
    prop_oneof![
        3 => select(fixed),
        1 => generated(0, "int"),
        1 => generated(1, "text"),
        1 => generated(2, "boolean"),
    ]
    .boxed()
}

fn constraint() -> BoxedStrategy<String> {
    prop_oneof![
        3 => (name(), any_expression(2, true))
            .prop_map(|(name, text)| format!("constraint {} check ({text})", quoted(&name))),
        1 => name()
            .prop_map(|name| format!("constraint {} unique (\u{2}1, \u{2}0)", quoted(&name))),
        1 => name().prop_map(|name| format!("constraint {} primary key (\u{2}0)", quoted(&name))),
        1 => Just("unique (\u{2}0), foreign key (\u{2}0) references \u{4} (\u{2}0)".to_owned()),
    ]
    .boxed()
}

fn view() -> BoxedStrategy<String> {
    let kinds = (any_expression(0, true), any_expression(1, true), any_expression(2, true));
    (kinds, name(), 0..8_usize)
        .prop_map(|((number, text, truth), name, form)| {
            let name = quoted(&name);
            let from = format!("from \u{3} as {name}");
            match form {
                0 => format!("select {number} as {name}, {text} as b, \u{2}2 {from} where {truth}"),
                1 => format!("select distinct {text} as {name} {from} order by 1 limit 5"),
                2 => format!(
                    "with {name} as (select \u{2}0, {truth} as x from \u{3}) \
                        select * from {name} where x"
                ),
                3 => format!(
                    "select {text} as a, count(*) as b, max({number}) as c {from} \
                        group by {text} having count(*) > 0"
                ),
                4 => format!("select {number} as {name} {from} union all select 1 except select 2"),
                5 => format!(
                    "select x.\u{2}0, row_number() over (partition by x.\u{2}1 order by \
                        x.\u{2}0) as {name} from \u{3} x left join \u{3} y on x.\u{2}0 = y.\u{2}0"
                ),
                6 => format!(
                    "select exists (select 1 from \u{3} where {truth}) as {name}, \
                        (select max({number}) from \u{3}) as b"
                ),
                _ => format!("select * {from} where \u{2}0 in (select {number} from \u{3})"),
            }
        })
        .boxed()
}

pub(crate) fn drawn() -> impl Strategy<Value = Drawn> {
    let names = proptest::collection::hash_set(name(), 4)
        .prop_map(|names| names.into_iter().collect::<Vec<_>>())
        .prop_shuffle();
    let options = (options(0), options(1), options(2), extra());
    let others = (proptest::option::of(name()), name(), name(), name(), name());
    let constraints = proptest::collection::vec(constraint(), 0..3);
    (names, options, others, constraints, view(), "[ -~ü]{0,12}").prop_map(
        |(columns, (a, b, c, (extra, d)), others, constraints, view, comment)| {
            let (schema, table, view_name, sequence, _) = others;
            let constraints = constraints.into_iter().map(|text| {
                let full = match &schema {
                    Some(schema) => format!("{}.{}", quoted(schema), quoted(&table)),
                    None => quoted(&table),
                };
                text.replace('\u{4}', &full)
            });
            let constraints = constraints.collect();
            Drawn {
                schema: schema.clone(),
                table: table.clone(),
                columns,
                options: vec![a, b, c, d],
                extra,
                constraints,
                view: (view_name, view),
                sequence,
                comment,
            }
        },
    )
}
