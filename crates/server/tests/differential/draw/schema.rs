//! Tables with columns of all types, keys, conditions and references, and the rows to begin with.

use super::expression::{Kind, constant, stored};
use super::{Draw, Statement};

/// A column.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// What stands in the definition.
    declared: String,
    pub(crate) not_null: bool,
}

/// A table, whose first column is its key.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) columns: Vec<Column>,
    /// Whether its column `p` refers to the table before it.
    pub(crate) refers: bool,
}

/// What there is in the database.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) tables: Vec<Table>,
    /// Views: a name, and the columns.
    pub(crate) views: Vec<(String, Vec<(String, Kind)>)>,
    pub(crate) in_block: bool,
    pub(crate) savepoint: bool,
}

const DECLARED: [(Kind, &[&str]); 12] = [
    (Kind::Small, &["smallint"]),
    (Kind::Int, &["integer"]),
    (Kind::Big, &["bigint"]),
    (Kind::Numeric, &["numeric(12,2)", "numeric(8,4)", "numeric"]),
    (Kind::Float, &["double precision"]),
    (Kind::Text, &["text"]),
    (Kind::Text, &["varchar(8)"]),
    (Kind::Text, &["char(8)"]),
    (Kind::Bool, &["boolean"]),
    (Kind::Date, &["date"]),
    (Kind::Moment, &["timestamp"]),
    (Kind::MomentTz, &["timestamptz"]),
];

impl World {
    /// A world, and the statements that make it.
    pub(crate) fn new(draw: &mut Draw) -> (Self, Vec<Statement>) {
        let mut world =
            Self { tables: Vec::new(), views: Vec::new(), in_block: false, savepoint: false };
        let mut made = Vec::new();
        for place in 0..3 {
            let table = Table::new(draw, place);
            made.push(Statement::plain(table.create(draw)));
            if draw.percent(40) {
                let column = draw.pick(&table.columns).name.clone();
                let name = &table.name;
                made.push(Statement::plain(format!("create index on {name} ({column})")));
            }
            world.tables.push(table);
            let table = &world.tables[place];
            for id in 0..4 + draw.below(8) {
                made.push(Statement::change(table.insert(draw, id as i64), &table.name));
            }
        }
        (world, made)
    }

    /// Statements after which there is nothing.
    pub(crate) fn gone() -> Vec<String> {
        let mut gone = vec!["rollback".to_owned()];
        gone.extend((0..6).map(|place| format!("drop view if exists v{place} cascade")));
        gone.extend((0..3).rev().map(|place| format!("drop table if exists t{place} cascade")));
        gone
    }
}

impl Table {
    fn new(draw: &mut Draw, place: usize) -> Self {
        let id = Column {
            name: "id".to_owned(),
            kind: Kind::Int,
            declared: "integer".to_owned(),
            not_null: true,
        };
        let mut columns = vec![id];
        let refers = place > 0 && draw.percent(60);
        if refers {
            let (name, declared) = ("p".to_owned(), "integer".to_owned());
            columns.push(Column { name, kind: Kind::Int, declared, not_null: false });
        }
        for number in 0..3 + draw.below(5) {
            let (kind, ways) = draw.pick(&DECLARED);
            let declared = (*draw.pick(ways)).to_owned();
            let not_null = draw.percent(12);
            columns.push(Column { name: format!("c{number}"), kind: *kind, declared, not_null });
        }
        Self { name: format!("t{place}"), columns, refers }
    }

    fn create(&self, draw: &mut Draw) -> String {
        let mut parts = Vec::new();
        for column in &self.columns {
            let mut part = format!("{} {}", column.name, column.declared);
            if column.name == "id" {
                part += " primary key";
            } else if column.name != "p" {
                if draw.percent(25) {
                    part += &format!(" default {}", constant(draw, column.kind));
                }
                if column.not_null {
                    part += " not null";
                }
                if draw.percent(8) {
                    part += " unique";
                }
                let is_number = matches!(column.kind, Kind::Int | Kind::Big | Kind::Numeric);
                if is_number && draw.percent(15) {
                    part += &format!(" check ({} > -1000)", column.name);
                }
            }
            parts.push(part);
        }
        if self.refers {
            let number: usize = self.name[1..].parse().expect("tables have numbers");
            let actions = ["no action", "restrict", "cascade", "set null", "set default"];
            parts.push(format!(
                "foreign key (p) references t{} on delete {} on update {}",
                number - 1,
                draw.pick(&actions),
                draw.pick(&actions)
            ));
        }
        format!("create table {} ({})", self.name, parts.join(", "))
    }

    /// A row with this key.
    pub(crate) fn insert(&self, draw: &mut Draw, id: i64) -> String {
        let names: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
        format!("insert into {} ({}) values {}", self.name, names.join(", "), self.row(draw, id))
    }

    /// The values of a row, in parentheses.
    pub(crate) fn row(&self, draw: &mut Draw, id: i64) -> String {
        let values = self.columns.iter().map(|column| match column.name.as_str() {
            "id" => id.to_string(),
            "p" if draw.percent(25) => "null".to_owned(),
            "p" => draw.below(6).to_string(),
            _ if !column.not_null && draw.percent(20) => "null".to_owned(),
            _ => stored(draw, column.kind),
        });
        format!("({})", values.collect::<Vec<_>>().join(", "))
    }
}
