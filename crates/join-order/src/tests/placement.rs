//! Where joins come to stand, one rule at a time, over the tables of TPC-H at scale factor 0.01.

use super::shape::shape;
use super::tpch::context;

#[track_caller]
fn assert_shape(query: &str, expected: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let frame = runtime.block_on(context().sql(query)).expect("a query");
    let plan = frame.into_optimized_plan().expect("a plan");
    assert_eq!(shape(&plan), expected, "{query}\n{}", plan.display_indent());
}

#[test]
fn the_smaller_side_is_built() {
    assert_shape(
        "select * from orders, customer where o_custkey = c_custkey",
        "(customer > orders)",
    );
    assert_shape(
        "select * from customer, orders where o_custkey = c_custkey",
        "(customer > orders)",
    );
}

#[test]
fn what_is_equal_over_a_third_column_is_joined() {
    // Customers and suppliers meet in no predicate but in the nation's.
    assert_shape(
        "select * from supplier, customer, nation where s_nationkey = n_nationkey \
         and c_nationkey = n_nationkey and s_suppkey = 1 and n_name = 'PERU'",
        "((supplier > nation) > customer)",
    );
}

#[test]
fn a_constant_for_one_column_is_one_for_all() {
    let query = "select s_name from supplier, customer, nation where s_nationkey = n_nationkey \
                 and c_nationkey = n_nationkey and c_nationkey = 7";
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let frame = runtime.block_on(context().sql(query)).expect("a query");
    let plan = frame.into_optimized_plan().expect("a plan").display_indent().to_string();
    for column in ["s_nationkey = Int64(7)", "n_nationkey = Int64(7)", "c_nationkey = Int64(7)"] {
        assert!(plan.contains(column), "{column} in\n{plan}");
    }
}

#[test]
fn a_semi_join_is_applied_where_it_drops_most() {
    assert_shape(
        "select * from orders, lineitem where o_orderkey = l_orderkey and o_custkey in \
         (select c_custkey from customer where c_custkey < 10)",
        "((customer semi> orders) > lineitem)",
    );
    // Compared with a column of lines, but applied to the orders that have an equal one.
    assert_shape(
        "select * from lineitem, orders, customer where o_orderkey = l_orderkey \
         and o_custkey = c_custkey and l_orderkey in \
         (select l_orderkey from lineitem group by l_orderkey having sum(l_quantity) > 300)",
        "(((group(lineitem) semi> orders) > customer) > lineitem)",
    );
}

#[test]
fn a_filter_that_looks_at_many_rows_waits_until_few_are_left() {
    assert_shape(
        "select s_name from nation, supplier, lineitem l1 where s_suppkey = l1.l_suppkey \
         and s_nationkey = n_nationkey and n_name = 'PERU' and exists (select * from lineitem l2 \
         where l2.l_orderkey = l1.l_orderkey and l2.l_suppkey <> l1.l_suppkey)",
        "(((nation > supplier) > lineitem) <semi lineitem)",
    );
}

#[test]
fn semi_joins_on_a_group_key_move_below_the_aggregate() {
    assert_shape(
        "select * from (select o_custkey as k, sum(o_totalprice) as s from orders \
         group by o_custkey) g where k in (select c_custkey from customer where c_custkey < 10)",
        "group((customer semi> orders))",
    );
    // One that keeps most groups looks at fewer rows above.
    assert_shape(
        "select * from (select o_custkey as k, sum(o_totalprice) as s from orders \
         group by o_custkey) g where k in (select c_custkey from customer)",
        "(group(orders) <semi customer)",
    );
    // On the sum there is nothing to move.
    assert_shape(
        "select * from (select o_custkey as k, count(*) as s from orders \
         group by o_custkey) g where s in (select c_custkey from customer where c_custkey < 10)",
        "(customer semi> group(orders))",
    );
}

#[test]
fn only_groups_that_are_joined_are_computed() {
    let of_parts = "select * from part, (select l_partkey as k, avg(l_quantity) as q from lineitem \
                    group by l_partkey) g where p_partkey = k";
    assert_shape(
        &format!("{of_parts} and p_brand = 'Brand#23'"),
        "(group((part semi> lineitem)) > part)",
    );
    assert_shape(of_parts, "(group(lineitem) > part)");
    // A limit looks at groups together: none may be left out below it.
    assert_shape(
        "select * from part, (select l_partkey as k, avg(l_quantity) as q from lineitem \
         group by l_partkey order by q limit 100) g where p_partkey = k and p_brand = 'Brand#23'",
        "(part > group(lineitem))",
    );
}

#[test]
fn outer_joins_keep_their_place_and_build_the_smaller_side() {
    assert_shape(
        "select * from orders left join customer on o_custkey = c_custkey",
        "(customer outer> orders)",
    );
    assert_shape(
        "select * from customer left join orders on o_custkey = c_custkey, nation \
         where c_nationkey = n_nationkey and n_name = 'PERU'",
        "(nation > (customer <outer orders))",
    );
}

#[test]
fn not_in_with_nulls_builds_the_side_that_is_kept() {
    // The largest of a group may be NULL, and nothing is outside a set that has one.
    assert_shape(
        "select * from orders where o_custkey not in \
         (select max(c_custkey) from customer group by c_nationkey)",
        "(orders <anti group(customer))",
    );
}
