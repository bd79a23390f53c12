//! Expressions of a kind that is asked for, over the columns in scope.

use super::Draw;

/// What an expression gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Small,
    Int,
    Big,
    Numeric,
    Float,
    Text,
    Bool,
    Date,
    Moment,
    MomentTz,
}

pub(crate) const KINDS: [Kind; 10] = [
    Kind::Small,
    Kind::Int,
    Kind::Big,
    Kind::Numeric,
    Kind::Float,
    Kind::Text,
    Kind::Bool,
    Kind::Date,
    Kind::Moment,
    Kind::MomentTz,
];

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Small => "smallint",
            Self::Int => "integer",
            Self::Big => "bigint",
            Self::Numeric => "numeric",
            Self::Float => "double precision",
            Self::Text => "text",
            Self::Bool => "boolean",
            Self::Date => "date",
            Self::Moment => "timestamp",
            Self::MomentTz => "timestamptz",
        }
    }

    fn is_number(self) -> bool {
        matches!(self, Self::Small | Self::Int | Self::Big | Self::Numeric | Self::Float)
    }
}

/// Columns that an expression may name, each as it is written.
#[derive(Clone, Default)]
pub(crate) struct Scope {
    pub(super) columns: Vec<(String, Kind)>,
    /// Tables and their columns for subqueries, empty where there are to be none.
    pub(super) tables: Vec<(String, Vec<(String, Kind)>)>,
    /// How many queries are around this one.
    pub(super) depth: usize,
}

const TEXTS: [&str; 10] =
    ["''", "'a'", "'ab'", "'ab '", "'B'", "' x'", "'abc'", "'a%_'", "'Zz9'", "'it''s'"];

/// A value for a row, which may be large, but not so that a query over rows may overflow: which
/// rows are computed is nobody's promise.
pub(crate) fn stored(draw: &mut Draw, kind: Kind) -> String {
    if draw.percent(95) {
        return constant(draw, kind);
    }
    match kind {
        Kind::Small => (*draw.pick(&["3000", "-3000", "300"])).to_owned(),
        Kind::Int => (*draw.pick(&["20000000", "-20000000", "100000"])).to_owned(),
        Kind::Big => (*draw.pick(&["3000000000", "-3000000000"])).to_owned(),
        _ => constant(draw, kind),
    }
}

/// Arithmetic at the ends of what types hold, over no rows.
pub(crate) fn edge(draw: &mut Draw) -> String {
    const ENDS: [&str; 14] = [
        "32767::smallint",
        "(-32768)::smallint",
        "2147483647",
        "(-2147483648)",
        "2147483648",
        "9223372036854775807",
        "(-9223372036854775808)",
        "1::smallint",
        "(-1)",
        "0",
        "2.5",
        "(-1.5)",
        "1e300::double precision",
        "0.5::double precision",
    ];
    let (one, other) = (*draw.pick(&ENDS), *draw.pick(&ENDS));
    match draw.below(9) {
        0 => format!("{one} + {other}"),
        1 => format!("{one} - {other}"),
        2 => format!("{one} * {other}"),
        3 => format!("{one} / {other}"),
        4 if !format!("{one}{other}").contains("double") => format!("{one} % {other}"),
        5 => format!("abs({one})"),
        6 => format!("- {one}"),
        7 => format!("{one} {} {other}", draw.pick(&["=", "<", ">="])),
        _ => {
            let to = draw.pick(&["smallint", "integer", "bigint", "numeric(6,2)", "text"]);
            format!("cast({one} as {to})")
        }
    }
}

/// A constant.
pub(crate) fn constant(draw: &mut Draw, kind: Kind) -> String {
    match kind {
        Kind::Small | Kind::Int | Kind::Big => (draw.below(20) as i64 - 6).to_string(),
        Kind::Numeric => {
            let numbers = ["0", "0.5", "-1.25", "2.50", "10", "99.99", "-0.01", "3.3333", "7"];
            (*draw.pick(&numbers)).to_owned()
        }
        Kind::Float => {
            let numbers = ["0.5", "-1.5", "2", "1e3", "-0.125", "0", "1e-3"];
            format!("{}::double precision", draw.pick(&numbers))
        }
        Kind::Text => (*draw.pick(&TEXTS)).to_owned(),
        Kind::Bool => (*draw.pick(&["true", "false"])).to_owned(),
        Kind::Date => {
            let days = ["2020-01-31", "2020-02-29", "1999-12-31", "2024-06-15", "1970-01-01"];
            format!("date '{}'", draw.pick(&days))
        }
        Kind::Moment => {
            let at = ["2020-01-31 10:00:00", "1999-12-31 23:59:59.5", "1970-01-01 00:00:00"];
            format!("timestamp '{}'", draw.pick(&at))
        }
        Kind::MomentTz => {
            let at = ["2020-01-31 10:00:00+02", "1999-12-31 23:59:59.5+00"];
            format!("timestamptz '{}'", draw.pick(&at))
        }
    }
}

/// An expression of a kind.
pub(crate) fn expression(draw: &mut Draw, scope: &Scope, kind: Kind, depth: usize) -> String {
    let columns: Vec<&String> =
        scope.columns.iter().filter(|column| column.1 == kind).map(|column| &column.0).collect();
    if depth == 0 || draw.percent(25) {
        return match columns.is_empty() || draw.percent(25) {
            true => constant(draw, kind),
            false => (*draw.pick(&columns)).clone(),
        };
    }
    let mut of = |draw: &mut Draw, kind| expression(draw, scope, kind, depth - 1);
    if draw.percent(22) {
        return match draw.below(6) {
            0 => format!("coalesce({}, {})", of(draw, kind), of(draw, kind)),
            1 => format!("nullif({}, {})", of(draw, kind), of(draw, kind)),
            2 if kind != Kind::Bool => {
                let name = *draw.pick(&["greatest", "least"]);
                format!("{name}({}, {})", of(draw, kind), of(draw, kind))
            }
            3 => format!(
                "case when {} then {} else {} end",
                of(draw, Kind::Bool),
                of(draw, kind),
                of(draw, kind)
            ),
            4 => format!("case when {} then {} end", of(draw, Kind::Bool), of(draw, kind)),
            _ if scope.tables.is_empty() || scope.depth > 1 => constant(draw, kind),
            _ => super::query::scalar(draw, scope, kind),
        };
    }
    match kind {
        Kind::Small => match draw.below(3) {
            0 => format!("({} + {})", of(draw, kind), of(draw, kind)),
            1 => format!("abs({})", of(draw, kind)),
            _ => format!("({})::integer::smallint", of(draw, Kind::Bool)),
        },
        Kind::Int => integer(draw, &mut of),
        Kind::Big => match draw.below(4) {
            0 => format!("({} + {})", of(draw, Kind::Big), of(draw, Kind::Int)),
            1 => format!("cast({} as bigint)", of(draw, Kind::Int)),
            2 => format!("({} - {})", of(draw, Kind::Int), of(draw, Kind::Big)),
            _ => format!("abs({})", of(draw, Kind::Big)),
        },
        Kind::Numeric => numeric(draw, &mut of),
        Kind::Float => float(draw, &mut of),
        Kind::Text => text(draw, &mut of),
        Kind::Bool => condition(draw, scope, depth),
        Kind::Date => match draw.below(4) {
            0 => format!("({} + {})", of(draw, Kind::Date), draw.below(40)),
            1 => format!("({} - {})", of(draw, Kind::Date), draw.below(40)),
            2 => format!("({})::date", of(draw, Kind::Moment)),
            _ => of(draw, Kind::Date),
        },
        Kind::Moment => moment(draw, &mut of),
        Kind::MomentTz => match draw.below(2) {
            0 => format!("({})::timestamptz", of(draw, Kind::Moment)),
            _ => of(draw, Kind::MomentTz),
        },
    }
}

/// Draws a part of an expression.
type Of<'o> = dyn FnMut(&mut Draw, Kind) -> String + 'o;

fn moment(draw: &mut Draw, of: &mut Of<'_>) -> String {
    match draw.below(6) {
        3 => {
            let span = format!("({} - {})", of(draw, Kind::Moment), of(draw, Kind::Moment));
            format!("({} + {span})", of(draw, Kind::Moment))
        }
        4 => {
            let span = *draw.pick(&["1 day", "1 month 3 days", "02:30:10", "-1 day 01:00"]);
            let factor = *draw.pick(&["3", "0.5", "-1.5"]);
            format!("({} + interval '{span}' * {factor})", of(draw, Kind::Moment))
        }
        0 => format!("({})::timestamp", of(draw, Kind::Date)),
        1 => {
            let part = *draw.pick(&["year", "month", "day", "hour"]);
            format!("date_trunc('{part}', {})", of(draw, Kind::Moment))
        }
        2 => {
            let span = *draw.pick(&["1 day", "2 months", "3 hours", "-10 minutes"]);
            format!("({} + interval '{span}')", of(draw, Kind::Moment))
        }
        _ => format!("({})::timestamp", of(draw, Kind::MomentTz)),
    }
}

fn integer(draw: &mut Draw, of: &mut Of<'_>) -> String {
    match draw.below(14) {
        0 => format!("({} + {})", of(draw, Kind::Int), of(draw, Kind::Int)),
        1 => format!("({} - {})", of(draw, Kind::Int), of(draw, Kind::Small)),
        2 => format!("({} * {})", of(draw, Kind::Int), draw.below(4)),
        3 => format!("({} / nullif({}, 0))", of(draw, Kind::Int), of(draw, Kind::Int)),
        4 => format!("({} % nullif({}, 0))", of(draw, Kind::Int), of(draw, Kind::Int)),
        5 => format!("abs({})", of(draw, Kind::Int)),
        6 => format!("(- {})", of(draw, Kind::Int)),
        7 => format!("length({})", of(draw, Kind::Text)),
        8 => format!("cast({} as integer)", of(draw, Kind::Numeric)),
        9 => format!("cast({} as integer)", of(draw, Kind::Float)),
        10 => format!("({} - {})", of(draw, Kind::Date), of(draw, Kind::Date)),
        11 => format!("strpos({}, {})", of(draw, Kind::Text), of(draw, Kind::Text)),
        12 => format!("({} & {})", of(draw, Kind::Int), draw.below(16)),
        _ => format!("({})::integer", of(draw, Kind::Bool)),
    }
}

fn numeric(draw: &mut Draw, of: &mut Of<'_>) -> String {
    match draw.below(12) {
        0 => format!("({} + {})", of(draw, Kind::Numeric), of(draw, Kind::Numeric)),
        1 => format!("({} - {})", of(draw, Kind::Numeric), of(draw, Kind::Int)),
        2 => format!("({} * {})", of(draw, Kind::Numeric), draw.pick(&["2", "0.5", "-1"])),
        3 => format!("({} / nullif({}, 0))", of(draw, Kind::Numeric), of(draw, Kind::Int)),
        4 => format!("round({}, {})", of(draw, Kind::Numeric), draw.below(4)),
        5 => format!("round({})", of(draw, Kind::Numeric)),
        6 => format!("trunc({}, {})", of(draw, Kind::Numeric), draw.below(3)),
        7 => format!("ceil({})", of(draw, Kind::Numeric)),
        8 => format!("floor({})", of(draw, Kind::Numeric)),
        9 => format!("abs({})", of(draw, Kind::Numeric)),
        10 => format!("cast({} as numeric)", of(draw, Kind::Int)),
        _ => format!("cast({} as numeric(14,3))", of(draw, Kind::Numeric)),
    }
}

fn float(draw: &mut Draw, of: &mut Of<'_>) -> String {
    match draw.below(12) {
        9 => format!("ln(abs({}) + 0.5)", of(draw, Kind::Float)),
        10 => format!("log(abs({}) + 1)", of(draw, Kind::Float)),
        0 => format!("({} + {})", of(draw, Kind::Float), of(draw, Kind::Float)),
        1 => format!("({} - {})", of(draw, Kind::Float), of(draw, Kind::Int)),
        2 => format!("({} * {})", of(draw, Kind::Float), of(draw, Kind::Numeric)),
        3 => format!("({} / nullif({}, 0))", of(draw, Kind::Float), of(draw, Kind::Float)),
        4 => format!("sqrt(abs({}))", of(draw, Kind::Float)),
        5 => format!("floor({})", of(draw, Kind::Float)),
        6 => format!("ceil({})", of(draw, Kind::Float)),
        7 => format!("round({})", of(draw, Kind::Float)),
        8 => format!("cast({} as double precision)", of(draw, Kind::Int)),
        _ => format!("cast({} as double precision)", of(draw, Kind::Numeric)),
    }
}

/// Patterns of `to_char`.
const MOMENTS: [&str; 6] = [
    "YYYY-MM-DD HH24:MI:SS.US",
    "FMDDth FMMonth YYYY, FMDay",
    "Dy Mon DD HH12:MI AM",
    "IYYY-IW-ID Q DDD",
    "Day|Month|WW|J",
    "YY/FMMM/FMDD MS SSSS CC",
];
const NUMBERS: [&str; 7] =
    ["999", "FM9999", "09999", "9,999.99", "S99999", "99999MI", "FM999G999D00"];

fn text(draw: &mut Draw, of: &mut Of<'_>) -> String {
    let small = draw.below(5);
    let inner = of(draw, Kind::Text);
    match draw.below(26) {
        18 => format!("md5({inner})"),
        19 => format!("concat({}, {inner})", of(draw, Kind::Bool)),
        20 => format!("concat_ws({inner}, {}, {})", of(draw, Kind::Date), of(draw, Kind::Text)),
        21 => {
            let pattern = *draw.pick(&MOMENTS);
            format!("to_char({}, '{pattern}')", of(draw, Kind::Moment))
        }
        22 => {
            let pattern = *draw.pick(&NUMBERS);
            format!("to_char({}, '{pattern}')", of(draw, Kind::Int))
        }
        23 => format!("cast(age({}, {}) as text)", of(draw, Kind::Moment), of(draw, Kind::Moment)),
        24 => format!("quote_nullable({inner})"),
        0 | 1 => format!("({inner} || {})", of(draw, Kind::Text)),
        2 => format!("upper({inner})"),
        3 => format!("lower({inner})"),
        4 => format!("substring({inner} from {} for {small})", 1 + draw.below(3)),
        5 => format!("left({inner}, {})", small as i64 - 2),
        6 => format!("right({inner}, {})", small as i64 - 2),
        7 => format!("trim({inner})"),
        8 => format!("replace({inner}, 'a', {})", of(draw, Kind::Text)),
        9 => format!("cast({} as text)", of(draw, Kind::Int)),
        10 => format!("lpad({inner}, {small}, '*')"),
        11 => format!("rpad({inner}, {small})"),
        12 => format!("repeat({inner}, {})", small.min(3)),
        13 => format!("reverse({inner})"),
        14 => format!("initcap({inner})"),
        15 => format!("split_part({inner}, 'a', {})", 1 + small),
        16 => format!("concat({inner}, {}, {})", of(draw, Kind::Int), of(draw, Kind::Text)),
        17 => format!("translate({inner}, 'ab', 'xy')"),
        _ => format!("cast({} as text)", of(draw, Kind::Date)),
    }
}

/// A condition.
pub(super) fn condition(draw: &mut Draw, scope: &Scope, depth: usize) -> String {
    let of = |draw: &mut Draw, kind| expression(draw, scope, kind, depth.saturating_sub(1));
    let kind = *draw.pick(&KINDS);
    match draw.below(17) {
        0..=3 => {
            let other = match kind.is_number() {
                true => *draw.pick(&[Kind::Int, Kind::Numeric, kind]),
                false => kind,
            };
            let op = draw.pick(&["=", "<>", "<", "<=", ">", ">="]);
            format!("({} {op} {})", of(draw, kind), of(draw, other))
        }
        4 => format!("({} is {}null)", of(draw, kind), draw.pick(&["", "not "])),
        5 => {
            let not = *draw.pick(&["", "not "]);
            let (low, high) = (of(draw, kind), of(draw, kind));
            format!("({} {not}between {low} and {high})", of(draw, kind))
        }
        6 => {
            let not = *draw.pick(&["", "not "]);
            let list = [of(draw, kind), of(draw, kind), constant(draw, kind)];
            format!("({} {not}in ({}))", of(draw, kind), list.join(", "))
        }
        7 => {
            let pattern = draw.pick(&["'a%'", "'%b%'", "'_'", "'%'", "''", "'a\\%%'"]);
            let how = draw.pick(&["like", "not like", "ilike"]);
            format!("({} {how} {pattern})", of(draw, Kind::Text))
        }
        8 | 9 => {
            let op = draw.pick(&["and", "or"]);
            format!("({} {op} {})", of(draw, Kind::Bool), of(draw, Kind::Bool))
        }
        10 => format!("(not {})", of(draw, Kind::Bool)),
        11 => {
            let how = draw.pick(&["true", "false", "not true", "not false", "unknown"]);
            format!("({} is {how})", of(draw, Kind::Bool))
        }
        12 => {
            let not = *draw.pick(&["", "not "]);
            format!("({} is {not}distinct from {})", of(draw, kind), of(draw, kind))
        }
        _ if scope.tables.is_empty() || scope.depth > 1 => constant(draw, Kind::Bool),
        13 | 14 => super::query::exists(draw, scope),
        15 => super::query::member(draw, scope, kind),
        _ => super::query::quantified(draw, scope, kind),
    }
}
