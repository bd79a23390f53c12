//! How a d_-style record lies in C memory: what the generated header declares, as numbers.
//!
//! Natural alignment on a system where `long` and pointers have eight bytes. The runtime copies
//! between a caller's struct and a row by this table, and checks its size against the `sizeof` that
//! the caller's compiler put into the dictionary.

use remanent_schema::{ColumnType, TableSchema};

use crate::model::field_type::{CType, FieldType, VarType};
use crate::model::{Class, Field, Part, Schema};

/// A C struct: its size and the leaves of the row in it.
///
/// # Examples
/// ```
/// use remanent_ddl::{CKind, Options, Source, parse};
/// let text = "database a { record R { short s; char t[5]; long n; compound key k { n; s; } } }";
/// let (schema, _) = parse(&Source::new("a.ddl", text), &Options::default())?;
/// let record = schema.c_record(&schema.classes[0]);
/// assert_eq!((record.size, record.alignment), (16, 8));
/// let text = record.fields[1];
/// assert_eq!((text.leaf, text.offset, text.size, text.kind), (1, 2, 5, CKind::Text));
/// let key = schema.c_key(&schema.classes[0], &schema.classes[0].indexes[0].parts);
/// assert_eq!((key.size, key.fields[0].leaf, key.fields[1].offset), (16, 2, 8));
/// # Ok::<(), remanent_ddl::Diagnostics>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CStruct {
    /// `sizeof`.
    pub size: u32,
    /// `alignof`.
    pub alignment: u32,
    /// Its leaves in order.
    pub fields: Vec<CField>,
}

/// A leaf of the row, or an array of structs, in a C struct.
///
/// # Examples
/// ```
/// # use remanent_ddl::{Options, Source, parse};
/// let text = "struct p { char c; long n; }; database a { record R { struct p at; } }";
/// let (schema, _) = parse(&Source::new("a.ddl", text), &Options::default())?;
/// let record = schema.c_record(&schema.classes[0]);
/// assert_eq!((record.fields[1].leaf, record.fields[1].offset), (1, 8));
/// # Ok::<(), remanent_ddl::Diagnostics>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CField {
    /// Its number in the row's layout.
    pub leaf: u32,
    /// The place of its record's field among the fields.
    pub field: u32,
    /// Where it begins, in bytes from the struct's start.
    pub offset: u32,
    /// Its bytes in C.
    pub size: u32,
    /// How its bytes become the row's.
    pub kind: CKind,
}

/// How a C field's bytes become those of the row.
///
/// # Examples
/// ```
/// assert_ne!(remanent_ddl::CKind::Fixed, remanent_ddl::CKind::Text);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CKind {
    /// The same bytes, numbers and arrays alike.
    Fixed,
    /// `char[n]`: text up to the first NUL, a String column.
    Text,
    /// `wchar_t[n]`: up to the first 0, a Blob column of four bytes each.
    WideText,
    /// `struct { uint32_t length; unsigned char data[n]; }`, a Blob column.
    Counted,
}

impl Schema {
    /// The C struct of a record.
    ///
    /// # Examples
    /// ```
    /// # use remanent_ddl::{Options, Source, parse};
    /// let text = "database a { record R { unique key int32_t id; char c[3]; } }";
    /// let (schema, _) = parse(&Source::new("a.ddl", text), &Options::default())?;
    /// assert_eq!(schema.c_record(&schema.classes[0]).size, 8);
    /// # Ok::<(), remanent_ddl::Diagnostics>(())
    /// ```
    pub fn c_record(&self, class: &Class) -> CStruct {
        self.struct_of(&class.table, class.fields.iter().enumerate())
    }

    /// The C struct of a compound key: the fields of its parts in order.
    ///
    /// # Examples
    /// ```
    /// # use remanent_ddl::{Options, Source, parse};
    /// let text = "database a { record R { long a; short b; compound key k { b; a; } } }";
    /// let (schema, _) = parse(&Source::new("a.ddl", text), &Options::default())?;
    /// let class = &schema.classes[0];
    /// assert_eq!(schema.c_key(class, &class.indexes[0].parts).fields[1].offset, 8);
    /// # Ok::<(), remanent_ddl::Diagnostics>(())
    /// ```
    pub fn c_key(&self, class: &Class, parts: &[Part]) -> CStruct {
        let of_part = |part: &Part| {
            let first = part.path.first()?;
            class.fields.iter().enumerate().find(|(_, field)| field.name == *first)
        };
        self.struct_of(&class.table, parts.iter().filter_map(of_part))
    }

    fn struct_of<'f>(
        &self,
        table: &TableSchema,
        fields: impl Iterator<Item = (usize, &'f Field)>,
    ) -> CStruct {
        let mut laid = CStruct { size: 0, alignment: 1, fields: Vec::new() };
        for (number, field) in fields {
            let shape = self.shape(field);
            let offset = laid.size.next_multiple_of(shape.alignment);
            let column = &table.columns[number].column_type;
            let mut leaf = field.leaf;
            self.leaves(field, column, number as u32, offset, &mut leaf, &mut laid.fields);
            laid.size = offset.saturating_add(shape.size);
            laid.alignment = laid.alignment.max(shape.alignment);
        }
        laid.size = laid.size.next_multiple_of(laid.alignment);
        laid
    }

    /// The leaves of one field, those of structs included.
    fn leaves(
        &self,
        field: &Field,
        column: &ColumnType,
        number: u32,
        offset: u32,
        leaf: &mut u32,
        found: &mut Vec<CField>,
    ) {
        let (field_type, _) = self.meaning(field);
        if let (Some(inner), ColumnType::Struct(columns)) = (self.inner(field_type), column) {
            let mut end = 0u32;
            for (field, column) in inner.iter().zip(columns) {
                let shape = self.shape(field);
                let start = end.next_multiple_of(shape.alignment);
                self.leaves(field, &column.column_type, number, offset + start, leaf, found);
                end = start.saturating_add(shape.size);
            }
            return;
        }
        let kind = match (field_type, column) {
            (FieldType::Var(VarType::Wide), _) => CKind::WideText,
            (FieldType::Var(VarType::Binary), _) => CKind::Counted,
            (_, ColumnType::String { .. }) => CKind::Text,
            _ => CKind::Fixed,
        };
        let size = self.shape(field).size;
        found.push(CField { leaf: *leaf, field: number, offset, size, kind });
        *leaf += 1;
    }

    fn shape(&self, field: &Field) -> Shape {
        let (field_type, dims) = self.meaning(field);
        let count = dims.iter().fold(1u32, |all, count| all.saturating_mul(*count));
        let one = match field_type {
            FieldType::C(c_type) => Shape::scalar(*c_type),
            FieldType::Var(VarType::Char) => Shape::scalar(CType::Char),
            FieldType::Var(VarType::Wide) => Shape::scalar(CType::WChar),
            FieldType::Var(VarType::Binary) => {
                let size = count.saturating_add(4).next_multiple_of(4);
                return Shape { size, alignment: 4 };
            }
            other => self.inner(other).map_or(Shape { size: 0, alignment: 1 }, |fields| {
                let mut whole = Shape { size: 0, alignment: 1 };
                for field in fields {
                    let shape = self.shape(field);
                    let start = whole.size.next_multiple_of(shape.alignment);
                    whole.size = start.saturating_add(shape.size);
                    whole.alignment = whole.alignment.max(shape.alignment);
                }
                whole.size = whole.size.next_multiple_of(whole.alignment);
                whole
            }),
        };
        Shape { size: one.size.saturating_mul(count), ..one }
    }

    /// The fields of a struct, named or not.
    fn inner<'s>(&'s self, field_type: &'s FieldType) -> Option<&'s [Field]> {
        match field_type {
            FieldType::Struct(name) => self.struct_type(name).map(|declared| &declared.fields[..]),
            FieldType::Inline(fields) => Some(fields),
            _ => None,
        }
    }

    /// A field's type and dimensions, typedefs followed.
    pub(crate) fn meaning<'s>(&'s self, field: &'s Field) -> (&'s FieldType, Vec<u32>) {
        let mut dims = field.dims.clone();
        let mut meaning = &field.field_type;
        while let FieldType::Typedef(name) = meaning {
            let Some(typedef) = self.typedef(name) else { break };
            meaning = &typedef.field_type;
            dims.extend(&typedef.dims);
        }
        (meaning, dims)
    }
}

#[derive(Clone, Copy)]
struct Shape {
    size: u32,
    alignment: u32,
}

impl Shape {
    fn scalar(c_type: CType) -> Shape {
        Shape { size: c_type.size(), alignment: c_type.size() }
    }
}
