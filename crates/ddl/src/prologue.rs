//! The prologue of a d_-style schema in an order that a C compiler accepts.
//!
//! Structs use typedefs and typedefs use structs; C wants each before it is used, but for a plain
//! typedef of a struct, which may come before the struct is known. Cycles were refused before.

use std::collections::HashMap;

use crate::model::field_type::FieldType;
use crate::model::{Field, Schema, StructType, Typedef};

/// A struct or a typedef of the prologue, by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// A struct.
    Struct(usize),
    /// A typedef.
    Typedef(usize),
}

/// All items, each behind those that it uses.
pub(crate) fn ordered(schema: &Schema) -> Vec<Item> {
    let mut search = Search {
        structs: &schema.structs,
        typedefs: &schema.typedefs,
        struct_places: (0..).zip(&schema.structs).map(|(at, s)| (&*s.name, at)).collect(),
        typedef_places: (0..).zip(&schema.typedefs).map(|(at, t)| (&*t.name, at)).collect(),
        is_struct_done: vec![false; schema.structs.len()],
        is_typedef_done: vec![false; schema.typedefs.len()],
        order: Vec::new(),
    };
    (0..schema.typedefs.len()).for_each(|place| search.typedef(place));
    (0..schema.structs.len()).for_each(|place| search.structure(place));
    search.order
}

/// Brings structs and typedefs into that order. Done twice it changes nothing more: the first time
/// typedefs come behind those they use, the second time structs follow them.
pub(crate) fn sort(schema: &mut Schema) {
    for _ in 0..2 {
        let order = ordered(schema);
        let mut structs: Vec<_> = schema.structs.drain(..).map(Some).collect();
        let mut typedefs: Vec<_> = schema.typedefs.drain(..).map(Some).collect();
        for item in order {
            match item {
                Item::Struct(place) => schema.structs.extend(structs[place].take()),
                Item::Typedef(place) => schema.typedefs.extend(typedefs[place].take()),
            }
        }
    }
}

struct Search<'s> {
    structs: &'s [StructType],
    typedefs: &'s [Typedef],
    struct_places: HashMap<&'s str, usize>,
    typedef_places: HashMap<&'s str, usize>,
    is_struct_done: Vec<bool>,
    is_typedef_done: Vec<bool>,
    order: Vec<Item>,
}

impl<'s> Search<'s> {
    fn structure(&mut self, place: usize) {
        if std::mem::replace(&mut self.is_struct_done[place], true) {
            return;
        }
        let structs = self.structs;
        self.fields(&structs[place].fields);
        self.order.push(Item::Struct(place));
    }

    /// A typedef, and first those that it stands for; a chain of them may be long.
    fn typedef(&mut self, place: usize) {
        let typedefs = self.typedefs;
        let mut chain = Vec::new();
        let mut next = Some(place);
        while let Some(place) = next.filter(|place| !self.is_typedef_done[*place]) {
            self.is_typedef_done[place] = true;
            chain.push(place);
            next = self.next(&typedefs[place].field_type);
        }
        for place in chain.into_iter().rev() {
            let Typedef { field_type, dims, .. } = &typedefs[place];
            if !dims.is_empty() || matches!(field_type, FieldType::Inline(_)) {
                self.complete(field_type);
            }
            self.order.push(Item::Typedef(place));
        }
    }

    fn fields(&mut self, fields: &'s [Field]) {
        for field in fields {
            if let Some(place) = self.next(&field.field_type) {
                self.typedef(place);
            }
            self.complete(&field.field_type);
        }
    }

    /// What has to be known in full before an object of this type can be declared.
    fn complete(&mut self, field_type: &'s FieldType) {
        let mut field_type = field_type;
        while let Some(place) = self.next(field_type) {
            field_type = &self.typedefs[place].field_type;
        }
        match field_type {
            FieldType::Struct(name) => {
                if let Some(place) = self.struct_places.get(&**name).copied() {
                    self.structure(place);
                }
            }
            FieldType::Inline(fields) => self.fields(fields),
            _ => {}
        }
    }

    fn next(&self, field_type: &FieldType) -> Option<usize> {
        match field_type {
            FieldType::Typedef(name) => self.typedef_places.get(&**name).copied(),
            _ => None,
        }
    }
}
