//! The types that fields have in the two languages.
//!
//! A type is kept as it was declared, so that it can be printed and so that generated C has the
//! type its writer expects. What the engine stores for it is decided in `resolve`.

use crate::model::{Field, Name};

/// The type of a field, or of one element of an array.
///
/// # Examples
/// ```
/// use remanent_ddl::{FieldType, Options, Source, parse};
/// let text = "declare database a; class A { unsigned<4> x; vector<string> v; };";
/// let (schema, _) = parse(&Source::new("a.mco", text), &Options::default())?;
/// let fields = &schema.classes[0].fields;
/// assert_eq!(fields[0].field_type, FieldType::Int { signed: false, size: 4 });
/// assert!(matches!(fields[1].field_type, FieldType::Vector(_)));
/// # Ok::<(), remanent_ddl::Diagnostics>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum FieldType {
    /// mco-style `signed<n>`, `unsigned<n>`.
    Int {
        /// Whether it has a sign.
        signed: bool,
        /// Bytes: 1, 2, 4 or 8.
        size: u8,
    },
    /// mco-style `bool`.
    Bool,
    /// mco-style `numeric<p,s>`.
    Decimal {
        /// Digits in all.
        precision: u8,
        /// Digits behind the point.
        scale: u8,
    },
    /// mco-style `char<n>`, `nchar<n>`, `wchar<n>`.
    Chars(Width, u32),
    /// mco-style `string`, `nstring`, `wstring`.
    String(Width),
    /// mco-style `binary<n>`.
    Binary(u32),
    /// mco-style `varbinary<n>`.
    VarBinary(u32),
    /// mco-style `blob`.
    Blob,
    /// mco-style `date`.
    Date,
    /// mco-style `time`.
    Time,
    /// mco-style `datetime`.
    DateTime,
    /// mco-style `ref`: the object id of another object.
    Ref,
    /// mco-style `autoid_t`, perhaps with the class that it refers to.
    AutoId(Option<Name>),
    /// mco-style `vector<t>`.
    Vector(Box<FieldType>),
    /// A number of C, or of both languages: `float`, `double`.
    C(CType),
    /// d_-style `varchar`, `varwchar`, `varbinary`; the size is the field's dimension.
    Var(VarType),
    /// A struct with a name.
    Struct(Name),
    /// An enumeration.
    Enum(Name),
    /// A type name of the prologue.
    Typedef(Name),
    /// d_-style `struct { .. }` without a name.
    Inline(Vec<Field>),
    /// A name that is not resolved yet; never in a schema that was accepted.
    Named(Name),
}

/// How wide the characters of an mco-style text are in C.
///
/// # Examples
/// ```
/// use remanent_ddl::Width;
/// assert_ne!(Width::Char, Width::Wide);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// `char`: bytes.
    Char,
    /// `nchar`: two bytes.
    National,
    /// `wchar`: `wchar_t`.
    Wide,
}

/// d_-style types whose values differ in length.
///
/// # Examples
/// ```
/// use remanent_ddl::VarType;
/// assert_eq!(VarType::Char.word(), "varchar");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VarType {
    /// `varchar`: in C `char x[n]`, up to the first NUL.
    Char,
    /// `varwchar`: in C `wchar_t x[n]`, up to the first 0.
    Wide,
    /// `varbinary`: in C `struct { uint32_t length; unsigned char data[n]; } x`.
    Binary,
}

impl VarType {
    pub(crate) const ALL: [VarType; 3] = [VarType::Char, VarType::Wide, VarType::Binary];

    /// The word in the schema.
    ///
    /// # Examples
    /// ```
    /// assert_eq!(remanent_ddl::VarType::Binary.word(), "varbinary");
    /// ```
    pub fn word(self) -> &'static str {
        match self {
            VarType::Char => "varchar",
            VarType::Wide => "varwchar",
            VarType::Binary => "varbinary",
        }
    }
}

/// A scalar type of C. `long` has 8 bytes, `wchar_t` 4.
///
/// # Examples
/// ```
/// use remanent_ddl::CType;
/// assert_eq!((CType::ULong.spelling(), CType::ULong.size()), ("unsigned long", 8));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are C's own names")]
pub enum CType {
    Char,
    UChar,
    Short,
    UShort,
    Int,
    UInt,
    Long,
    ULong,
    Int8,
    Int16,
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    Float,
    Double,
    WChar,
    DbAddr,
    BlobId,
}

impl CType {
    pub(crate) const ALL: [CType; 21] = [
        CType::Char,
        CType::UChar,
        CType::Short,
        CType::UShort,
        CType::Int,
        CType::UInt,
        CType::Long,
        CType::ULong,
        CType::Int8,
        CType::Int16,
        CType::Int32,
        CType::Int64,
        CType::UInt8,
        CType::UInt16,
        CType::UInt32,
        CType::UInt64,
        CType::Float,
        CType::Double,
        CType::WChar,
        CType::DbAddr,
        CType::BlobId,
    ];

    /// As it is written in C and in the schema. `db_addr` is `DB_ADDR` and `blob_id` `BLOB_ID` in
    /// C: the runtime's header names both.
    ///
    /// # Examples
    /// ```
    /// assert_eq!(remanent_ddl::CType::UInt16.spelling(), "uint16_t");
    /// ```
    pub fn spelling(self) -> &'static str {
        match self {
            CType::Char => "char",
            CType::UChar => "unsigned char",
            CType::Short => "short",
            CType::UShort => "unsigned short",
            CType::Int => "int",
            CType::UInt => "unsigned int",
            CType::Long => "long",
            CType::ULong => "unsigned long",
            CType::Int8 => "int8_t",
            CType::Int16 => "int16_t",
            CType::Int32 => "int32_t",
            CType::Int64 => "int64_t",
            CType::UInt8 => "uint8_t",
            CType::UInt16 => "uint16_t",
            CType::UInt32 => "uint32_t",
            CType::UInt64 => "uint64_t",
            CType::Float => "float",
            CType::Double => "double",
            CType::WChar => "wchar_t",
            CType::DbAddr => "db_addr",
            CType::BlobId => "blob_id",
        }
    }

    /// Its bytes in C, which are also its alignment.
    ///
    /// # Examples
    /// ```
    /// assert_eq!(remanent_ddl::CType::DbAddr.size(), 8);
    /// ```
    pub fn size(self) -> u32 {
        match self {
            CType::Char | CType::UChar | CType::Int8 | CType::UInt8 => 1,
            CType::Short | CType::UShort | CType::Int16 | CType::UInt16 => 2,
            CType::Int | CType::UInt | CType::Int32 | CType::UInt32 => 4,
            CType::Float | CType::WChar => 4,
            CType::Long | CType::ULong | CType::Int64 | CType::UInt64 | CType::Double => 8,
            CType::DbAddr | CType::BlobId => 8,
        }
    }
}
