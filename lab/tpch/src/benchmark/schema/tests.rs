//! Schemas are read as they are written.

use super::*;

#[test]
fn a_column_is_a_line() {
    let schema = "-- about it\n\ncreate table t (\n    a bigint not null,\n    \
                  b decimal(7,2),\n    c varchar(5),\n    d varchar,\n    primary key (a, c)\n);\n";
    let column = |name, of, may_be_null| Column { name, of, may_be_null };
    let columns = vec![
        column("a", Type::Bigint, false),
        column("b", Type::Decimal(7, 2), true),
        column("c", Type::Varchar(5), true),
        column("d", Type::Text, true),
    ];
    assert_eq!(tables(schema), [Table { name: "t", columns, key: "a, c" }]);
    let sql = "create table t (a bigint not null, b decimal(7, 2), c varchar(5), d varchar)";
    assert_eq!(tables(schema)[0].sql(), sql);
}

#[test]
#[should_panic(expected = "an unknown type: a money")]
fn a_type_that_nobody_knows_is_said() {
    tables("create table t (\n    a money,\n    primary key (a)\n);\n");
}
