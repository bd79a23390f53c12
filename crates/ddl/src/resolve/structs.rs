//! Structs in an order in which each comes behind those it uses; cycles and depth refused.
//!
//! The search goes along the structs and remembers what it has seen, so that it takes time in
//! proportion to the text; it never goes deeper than types may be nested.

use std::collections::HashMap;

use super::names::Names;
use crate::diagnostic::Reporter;
use crate::model::field_type::FieldType;
use crate::model::{Field, Name, Schema, StructType};

/// How deep structs may lie within structs, the class not counted.
const DEPTH_MAX: u32 = 14;

/// Sorts the structs of a schema.
pub(super) fn sort(schema: &mut Schema, names: &Names, reporter: &mut Reporter) {
    let by_name: HashMap<&str, usize> =
        schema.structs.iter().enumerate().map(|(place, s)| (&*s.name, place)).collect();
    let mut search = Search {
        structs: &schema.structs,
        by_name,
        typedefs: &names.typedefs,
        depths: vec![State::New; schema.structs.len()],
        order: Vec::new(),
    };
    for place in 0..schema.structs.len() {
        if reporter.is_full() || search.visit(place, &schema.structs[place].name, 0, reporter) == 0
        {
            return;
        }
    }
    let order = search.order;
    let mut taken: Vec<Option<StructType>> = schema.structs.drain(..).map(Some).collect();
    schema.structs = order.into_iter().filter_map(|place| taken[place].take()).collect();
}

struct Search<'s> {
    structs: &'s [StructType],
    by_name: HashMap<&'s str, usize>,
    typedefs: &'s HashMap<String, (FieldType, Vec<u32>)>,
    depths: Vec<State>,
    order: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    New,
    Open,
    Done(u32),
}

impl Search<'_> {
    /// How many levels the struct has, at least 1; 0 after an error.
    fn visit(&mut self, place: usize, used: &Name, depth: u32, reporter: &mut Reporter) -> u32 {
        match self.depths[place] {
            State::Done(levels) => return levels,
            State::Open => {
                let message = format!("`{}` contains itself", self.structs[place].name);
                let hint = "refer to another object by a key or a `ref` instead";
                reporter.error(used.span(), message, hint);
                return 0;
            }
            State::New => self.depths[place] = State::Open,
        }
        let structs = self.structs;
        let mut levels = 1;
        let mut inner = Vec::new();
        used_by(&structs[place].fields, self.typedefs, &mut inner);
        for name in inner {
            let Some(&next) = self.by_name.get(&**name) else { continue };
            let below =
                if depth < DEPTH_MAX { self.visit(next, name, depth + 1, reporter) } else { 99 };
            if below == 0 {
                return 0;
            }
            levels = levels.max(below + 1);
            if levels > DEPTH_MAX {
                let message = format!("`{}` has structs nested too deeply", structs[place].name);
                let hint = format!("structs lie in structs at most {DEPTH_MAX} levels deep");
                reporter.error(structs[place].name.span(), message, hint);
                return 0;
            }
        }
        self.depths[place] = State::Done(levels);
        self.order.push(place);
        levels
    }
}

/// The structs that fields use, vectors and inline structs included.
fn used_by<'f>(
    fields: &'f [Field],
    typedefs: &'f HashMap<String, (FieldType, Vec<u32>)>,
    found: &mut Vec<&'f Name>,
) {
    for field in fields {
        let mut field_type = &field.field_type;
        loop {
            match field_type {
                FieldType::Vector(element) => field_type = element,
                FieldType::Typedef(name) => match typedefs.get(&**name) {
                    Some((meaning, _)) => field_type = meaning,
                    None => break,
                },
                FieldType::Struct(name) => {
                    found.push(name);
                    break;
                }
                FieldType::Inline(inner) => {
                    used_by(inner, typedefs, found);
                    break;
                }
                _ => break,
            }
        }
    }
}
