//! The eight tables of TPC-H, as their rows stand in text.
//!
//! Types are those of the specification; keys are 64 bits wide, so that the same files serve every
//! scale.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};

/// A table and its columns in order.
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) columns: &'static [(&'static str, Type)],
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    /// 64 bits.
    Key,
    /// 32 bits.
    Integer,
    /// Fifteen digits, two of them behind the point.
    Decimal,
    Date,
    Char(u16),
    Varchar(u16),
}

use Type::{Char, Date, Decimal, Integer, Key, Varchar};

/// All tables, small ones first.
pub(crate) const TABLES: &[Table] = &[
    Table {
        name: "region",
        columns: &[("r_regionkey", Key), ("r_name", Char(25)), ("r_comment", Varchar(152))],
    },
    Table {
        name: "nation",
        columns: &[
            ("n_nationkey", Key),
            ("n_name", Char(25)),
            ("n_regionkey", Key),
            ("n_comment", Varchar(152)),
        ],
    },
    Table {
        name: "supplier",
        columns: &[
            ("s_suppkey", Key),
            ("s_name", Char(25)),
            ("s_address", Varchar(40)),
            ("s_nationkey", Key),
            ("s_phone", Char(15)),
            ("s_acctbal", Decimal),
            ("s_comment", Varchar(101)),
        ],
    },
    Table {
        name: "customer",
        columns: &[
            ("c_custkey", Key),
            ("c_name", Varchar(25)),
            ("c_address", Varchar(40)),
            ("c_nationkey", Key),
            ("c_phone", Char(15)),
            ("c_acctbal", Decimal),
            ("c_mktsegment", Char(10)),
            ("c_comment", Varchar(117)),
        ],
    },
    Table {
        name: "part",
        columns: &[
            ("p_partkey", Key),
            ("p_name", Varchar(55)),
            ("p_mfgr", Char(25)),
            ("p_brand", Char(10)),
            ("p_type", Varchar(25)),
            ("p_size", Integer),
            ("p_container", Char(10)),
            ("p_retailprice", Decimal),
            ("p_comment", Varchar(23)),
        ],
    },
    Table {
        name: "partsupp",
        columns: &[
            ("ps_partkey", Key),
            ("ps_suppkey", Key),
            ("ps_availqty", Integer),
            ("ps_supplycost", Decimal),
            ("ps_comment", Varchar(199)),
        ],
    },
    Table {
        name: "orders",
        columns: &[
            ("o_orderkey", Key),
            ("o_custkey", Key),
            ("o_orderstatus", Char(1)),
            ("o_totalprice", Decimal),
            ("o_orderdate", Date),
            ("o_orderpriority", Char(15)),
            ("o_clerk", Char(15)),
            ("o_shippriority", Integer),
            ("o_comment", Varchar(79)),
        ],
    },
    Table {
        name: "lineitem",
        columns: &[
            ("l_orderkey", Key),
            ("l_partkey", Key),
            ("l_suppkey", Key),
            ("l_linenumber", Integer),
            ("l_quantity", Decimal),
            ("l_extendedprice", Decimal),
            ("l_discount", Decimal),
            ("l_tax", Decimal),
            ("l_returnflag", Char(1)),
            ("l_linestatus", Char(1)),
            ("l_shipdate", Date),
            ("l_commitdate", Date),
            ("l_receiptdate", Date),
            ("l_shipinstruct", Char(25)),
            ("l_shipmode", Char(10)),
            ("l_comment", Varchar(44)),
        ],
    },
];

impl Table {
    /// The table as Arrow has it, without NULLs.
    pub(crate) fn arrow(&self) -> SchemaRef {
        let field = |&(name, kind): &(&str, Type)| Field::new(name, kind.arrow(), false);
        Arc::new(Schema::new(self.columns.iter().map(field).collect::<Vec<_>>()))
    }

    /// The statement that creates it.
    pub(crate) fn sql(&self) -> String {
        let column = |(name, kind): &(&str, Type)| format!("{name} {} not null", kind.sql());
        let columns: Vec<String> = self.columns.iter().map(column).collect();
        format!("create table {} ({})", self.name, columns.join(", "))
    }
}

impl Type {
    fn arrow(self) -> DataType {
        match self {
            Key => DataType::Int64,
            Integer => DataType::Int32,
            Decimal => DataType::Decimal128(15, 2),
            Date => DataType::Date32,
            Char(_) | Varchar(_) => DataType::Utf8View,
        }
    }

    fn sql(self) -> String {
        match self {
            Key => "bigint".to_owned(),
            Integer => "integer".to_owned(),
            Decimal => "decimal(15, 2)".to_owned(),
            Date => "date".to_owned(),
            Char(length) => format!("char({length})"),
            Varchar(length) => format!("varchar({length})"),
        }
    }
}
