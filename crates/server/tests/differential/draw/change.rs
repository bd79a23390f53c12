//! Changes of rows, blocks, views.

use super::expression::{Kind, Scope, condition, expression};
use super::schema::{Table, World};
use super::{Draw, Statement};

impl World {
    /// The next statement.
    pub(crate) fn next(&mut self, draw: &mut Draw) -> Statement {
        match draw.below(100) {
            0..=59 => self.query(draw),
            60..=66 => self.insert(draw),
            67..=76 => self.update(draw),
            77..=81 => self.delete(draw),
            82..=88 => self.upsert(draw),
            89..=91 => self.make_view(draw),
            _ => self.block(draw),
        }
    }

    fn make_view(&mut self, draw: &mut Draw) -> Statement {
        if self.views.len() >= 4 || self.in_block {
            return self.query(draw);
        }
        let (text, columns) = self.view(draw);
        let name = format!("v{}", self.views.len());
        let statement = Statement::plain(format!("create view {name} as {text}"));
        self.views.push((name, columns));
        statement
    }

    fn block(&mut self, draw: &mut Draw) -> Statement {
        let text = match (self.in_block, draw.below(4)) {
            (false, _) => {
                self.in_block = true;
                "begin"
            }
            (true, 0) => {
                self.savepoint = true;
                "savepoint s"
            }
            (true, 1) if self.savepoint => "rollback to s",
            (true, 2) => {
                (self.in_block, self.savepoint) = (false, false);
                "rollback"
            }
            (true, _) => {
                (self.in_block, self.savepoint) = (false, false);
                "commit"
            }
        };
        Statement::plain(text)
    }

    fn table(&self, draw: &mut Draw) -> Table {
        draw.pick(&self.tables).clone()
    }

    /// A scope over a table by its name, with subqueries.
    fn scope(&self, table: &Table, name: &str) -> Scope {
        let columns = table.columns.iter();
        let columns = columns.map(|column| (format!("{name}.{}", column.name), column.kind));
        // A query within a change reads one table, not the one that changes.
        let sources = self.sources().into_iter().take(3);
        let tables = sources.filter(|(other, _)| *other != table.name).collect();
        Scope { columns: columns.collect(), tables, depth: 1 }
    }

    fn insert(&self, draw: &mut Draw) -> Statement {
        let table = self.table(draw);
        let returning = returning(draw, &table);
        let first = draw.below(30) as i64;
        if draw.percent(70) {
            let rows = (0..1 + draw.below(3)).map(|row| table.row(draw, first + row as i64));
            let rows = rows.collect::<Vec<_>>().join(", ");
            let names: Vec<&str> = table.columns.iter().map(|it| it.name.as_str()).collect();
            let names = names.join(", ");
            let text = format!("insert into {} ({names}) values {rows}{returning}", table.name);
            return Statement::change(text, &table.name);
        }
        let other = self.table(draw);
        let scope = self.scope(&other, "s");
        let items = table.columns.iter().map(|column| match column.name.as_str() {
            "id" => format!("s.id + {}", 20 + first),
            "p" => "null".to_owned(),
            _ => expression(draw, &scope, column.kind, 1),
        });
        let items = items.collect::<Vec<_>>().join(", ");
        let text = format!(
            "insert into {} select {items} from {} s where {}{returning}",
            table.name,
            other.name,
            condition(draw, &scope, 2)
        );
        Statement::change(text, &table.name)
    }

    fn update(&self, draw: &mut Draw) -> Statement {
        let table = self.table(draw);
        let name = &table.name;
        let returning = returning(draw, &table);
        let scope = self.scope(&table, name);
        if draw.percent(15) {
            let text = format!(
                "update {name} set id = {} where id = {}{returning}",
                draw.below(40),
                draw.below(12)
            );
            return Statement::change(text, name);
        }
        let other = self.table(draw);
        let from = other.name != *name && draw.percent(25);
        let mut inner = scope.clone();
        if from {
            inner.columns.extend(self.scope(&other, "o").columns);
        }
        let set = assignments(draw, &table, &inner);
        let returning =
            if from { returning.replace('*', &format!("{name}.id")) } else { returning };
        let text = match from {
            true => format!(
                "update {name} set {set} from {} o where o.id = {name}.id and {}{returning}",
                other.name,
                condition(draw, &scope, 2)
            ),
            false => {
                format!("update {name} set {set} where {}{returning}", condition(draw, &scope, 2))
            }
        };
        Statement::change(text, name)
    }

    fn delete(&self, draw: &mut Draw) -> Statement {
        let table = self.table(draw);
        let name = &table.name;
        let returning = returning(draw, &table);
        let other = self.table(draw);
        let scope = self.scope(&table, name);
        let text = match draw.below(4) {
            0 if other.name != *name && !returning.contains('*') => format!(
                "delete from {name} using {} o where o.id = {name}.id and {}{returning}",
                other.name,
                condition(draw, &scope, 1)
            ),
            1 | 0 => format!("delete from {name} where {}{returning}", condition(draw, &scope, 2)),
            _ => format!("delete from {name} where id = {}{returning}", draw.below(20)),
        };
        Statement::change(text, name)
    }

    fn upsert(&self, draw: &mut Draw) -> Statement {
        let table = self.table(draw);
        let name = &table.name;
        let returning = returning(draw, &table);
        let rows = (0..1 + draw.below(2)).map(|_| {
            let id = draw.below(16) as i64;
            table.row(draw, id)
        });
        let rows = rows.collect::<Vec<_>>().join(", ");
        let names: Vec<&str> = table.columns.iter().map(|it| it.name.as_str()).collect();
        let mut text = format!("insert into {name} ({}) values {rows}", names.join(", "));
        let mut scope = self.scope(&table, name);
        scope.tables.clear();
        scope.columns.extend(self.scope(&table, "excluded").columns);
        text += &match draw.below(4) {
            0 => " on conflict do nothing".to_owned(),
            1 => " on conflict (id) do nothing".to_owned(),
            _ => {
                let set = assignments(draw, &table, &scope);
                let filter = match draw.percent(30) {
                    true => format!(" where {}", condition(draw, &scope, 2)),
                    false => String::new(),
                };
                format!(" on conflict (id) do update set {set}{filter}")
            }
        };
        Statement::change(text + &returning, name)
    }
}

fn returning(draw: &mut Draw, table: &Table) -> String {
    match draw.below(5) {
        0 => " returning *".to_owned(),
        1 => {
            let columns = table.columns.iter();
            let columns = columns.map(|it| (format!("{}.{}", table.name, it.name), it.kind));
            let scope = Scope { columns: columns.collect(), ..Scope::default() };
            let value = expression(draw, &scope, Kind::Int, 2);
            format!(" returning {}.id, {value} as o1", table.name)
        }
        _ => String::new(),
    }
}

/// Values for one or two columns that are no keys.
fn assignments(draw: &mut Draw, table: &Table, scope: &Scope) -> String {
    let open: Vec<_> = table.columns.iter().filter(|it| it.name != "id").collect();
    let first = draw.below(open.len());
    let mut set = Vec::new();
    for place in 0..(1 + draw.below(2)).min(open.len()) {
        let column = open[(first + place) % open.len()];
        let value = match draw.below(12) {
            0 => "default".to_owned(),
            1 => "null".to_owned(),
            _ => expression(draw, scope, column.kind, 2),
        };
        set.push(format!("{} = {value}", column.name));
    }
    set.join(", ")
}
