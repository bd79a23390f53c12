//! Estimates over the statistics of TPC-H at scale factor 0.01, beside what is true of its rows.

use super::super::tests::tpch;
use super::*;

fn rows(query: &str) -> f64 {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let context = tpch::context();
    let plan = runtime.block_on(context.sql(query)).expect("a query").into_optimized_plan();
    estimate(&plan.expect("a plan")).rows
}

#[track_caller]
fn about(query: &str, low: f64, high: f64) {
    let found = rows(query);
    assert!((low..=high).contains(&found), "{query}: {found}");
}

#[test]
fn scans_have_the_rows_of_their_tables() {
    about("select * from orders", 15_000.0, 15_000.0);
    about("select * from orders limit 10", 10.0, 10.0);
}

#[test]
fn ranges_and_equalities_follow_the_column() {
    // One year of seven: 2,290 orders.
    let year = "o_orderdate >= date '1994-01-01' and o_orderdate < date '1995-01-01'";
    about(&format!("select * from orders where {year}"), 2_000.0, 2_500.0);
    about("select * from orders where o_custkey between 1 and 150", 1_300.0, 1_700.0);
    about("select * from nation where n_name = 'FRANCE'", 1.0, 1.0);
    about("select * from lineitem where l_shipmode in ('MAIL', 'SHIP')", 16_000.0, 18_000.0);
    about("select * from lineitem where l_shipmode <> 'MAIL'", 50_000.0, 53_000.0);
    about("select * from orders where o_orderkey is null", 1.0, 1.0);
}

#[test]
fn alternatives_add_up() {
    let either = "n_name = 'FRANCE' or n_name = 'GERMANY'";
    about(&format!("select * from nation where {either}"), 2.0, 2.0);
}

#[test]
fn joins_on_keys_have_the_rows_of_the_side_that_refers() {
    about("select * from orders, customer where o_custkey = c_custkey", 14_000.0, 16_000.0);
    let composite = "ps_partkey = l_partkey and ps_suppkey = l_suppkey";
    about(&format!("select * from lineitem, partsupp where {composite}"), 50_000.0, 61_000.0);
}

#[test]
fn columns_of_a_union_have_the_values_of_its_inputs() {
    let both = "(select l_suppkey as key from lineitem union all \
                select s_suppkey from supplier) b";
    about(&format!("select * from {both}"), 59_000.0, 61_000.0);
    about(&format!("select * from {both} join supplier on key = s_suppkey"), 55_000.0, 65_000.0);
}

#[test]
fn groups_are_combinations_of_values() {
    about("select l_returnflag, l_linestatus from lineitem group by 1, 2", 6.0, 6.0);
    about("select l_orderkey from lineitem group by 1", 14_000.0, 15_000.0);
    about("select count(*) from lineitem", 1.0, 1.0);
    // Values among few rows are fewer.
    let few = "select o_custkey from orders where o_orderkey < 600 group by 1";
    about(few, 120.0, 150.0);
}

#[test]
fn semi_joins_keep_what_finds_a_partner() {
    let all = "select * from orders where o_custkey in (select c_custkey from customer)";
    about(all, 9_000.0, 15_000.0);
    let few = "select * from orders where o_custkey in \
               (select c_custkey from customer where c_custkey <= 150)";
    about(few, 900.0, 1_600.0);
    let not = "select * from customer where not exists \
               (select * from orders where o_custkey = c_custkey)";
    about(not, 50.0, 600.0);
}

#[test]
fn without_statistics_there_is_a_guess() {
    let context = datafusion::prelude::SessionContext::new();
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let create = "create table t as values (1, 'a'), (2, 'b')";
    runtime.block_on(async { context.sql(create).await?.collect().await }).expect("a table");
    let plan = runtime.block_on(context.sql("select * from t")).expect("a query");
    assert_eq!(estimate(plan.logical_plan()).rows, ROWS_UNKNOWN);
}
