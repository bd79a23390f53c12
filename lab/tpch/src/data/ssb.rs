//! The Star Schema Benchmark, made of TPC-H's data.
//!
//! Its orders and their items become one table, a calendar is added, and what is asked of nations,
//! cities and brands lies in the tables of customers, suppliers and parts. Amounts are in cents.

use std::collections::BTreeMap;

use lab_harness::Outcome;
use tpchgen::dates::{MIN_GENERATE_DATE, TPCHDate};
use tpchgen::generators::{LineItemGenerator, OrderGenerator};

use super::tpch;

/// The first day of a week, counted from Sunday as 1: the calendar begins with a Wednesday.
const FIRST_WEEKDAY: i32 = 4;

/// The years 1992 to 1998.
const DAYS: i32 = 2557;

const WEEKDAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Calls `take` with each row of a table.
///
/// # Errors
///
/// Those of `take`; a table that there is not.
pub(super) fn each_line(
    table: &str,
    scale: f64,
    mut take: impl FnMut(&str) -> Outcome<()>,
) -> Outcome<()> {
    match table {
        "dates" => (0..DAYS).try_for_each(|day| take(&date(day))),
        "lineorder" => each_item(scale, take),
        "part" => tpch::each_line("part", scale, |line| take(&part(&columns(line)))),
        "supplier" | "customer" => {
            let nations = nations(scale)?;
            tpch::each_line(table, scale, |line| {
                let columns = columns(line);
                let (nation, region) = &nations[columns[3]];
                // A nation's name with a digit: ten cities each.
                let key: usize = columns[0].parse()?;
                let city = format!("{:<9.9}{}", nation, key * 7919 / 11 % 10);
                let more =
                    if table == "customer" { format!("|{}", columns[6]) } else { String::new() };
                let (name, address, phone) = (columns[1], columns[2], columns[4]);
                take(&format!("{key}|{name}|{address}|{city}|{nation}|{region}|{phone}{more}"))
            })
        }
        other => Err(format!("no generator for {other}").into()),
    }
}

fn columns(line: &str) -> Vec<&str> {
    line.split('|').collect()
}

/// The name of each nation, by its key, with that of its region.
fn nations(scale: f64) -> Outcome<BTreeMap<String, (String, String)>> {
    let mut regions = BTreeMap::new();
    tpch::each_line("region", scale, |line| {
        let columns = columns(line);
        regions.insert(columns[0].to_owned(), columns[1].to_owned());
        Ok(())
    })?;
    let mut nations = BTreeMap::new();
    tpch::each_line("nation", scale, |line| {
        let columns = columns(line);
        nations.insert(columns[0].to_owned(), (columns[1].to_owned(), regions[columns[2]].clone()));
        Ok(())
    })?;
    Ok(nations)
}

/// `Brand#12` is the brands 1 to 40 of category `MFGR#12` of manufacturer `MFGR#1`.
fn part(columns: &[&str]) -> String {
    let [key, name, _, brand, of, size, container, ..] = columns else { return String::new() };
    let category = brand.replace("Brand", "MFGR");
    let manufacturer = &category[..category.len() - 1];
    let number = key.parse::<usize>().unwrap_or_default() * 7919 / 13 % 40 + 1;
    let color = name.split(' ').next().unwrap_or_default();
    let brand = format!("{category}{number:02}");
    format!("{key}|{name}|{manufacturer}|{category}|{brand}|{color}|{of}|{size}|{container}")
}

fn each_item(scale: f64, mut take: impl FnMut(&str) -> Outcome<()>) -> Outcome<()> {
    let items = LineItemGenerator::new(scale, 1, 1);
    let mut items = items.iter().peekable();
    for order in OrderGenerator::new(scale, 1, 1).iter() {
        let total = order.o_totalprice.into_inner();
        let ordered = key_of(order.o_orderdate);
        while let Some(item) = items.next_if(|item| item.l_orderkey == order.o_orderkey) {
            let price = item.l_extendedprice.into_inner();
            let (discount, tax) = (item.l_discount.into_inner(), item.l_tax.into_inner());
            let revenue = price * (100 - discount) / 100;
            let cost = price / item.l_quantity * 6 / 10;
            let amounts = format!("{price}|{total}|{discount}|{revenue}|{cost}|{tax}");
            take(&format!(
                "{}|{}|{}|{}|{}|{ordered}|{}|{}|{}|{amounts}|{}|{}",
                item.l_orderkey,
                item.l_linenumber,
                order.o_custkey,
                item.l_partkey,
                item.l_suppkey,
                order.o_orderpriority,
                order.o_shippriority,
                item.l_quantity,
                key_of(item.l_commitdate),
                item.l_shipmode,
            ))?;
        }
    }
    Ok(())
}

/// A date as a number of eight digits.
fn key_of(date: TPCHDate) -> String {
    date.to_string().replace('-', "")
}

fn date(day: i32) -> String {
    let date = TPCHDate::new(MIN_GENERATE_DATE + day);
    let (year, month, of_month) = date.to_ymd();
    let (key, year) = (key_of(date), 1900 + year);
    let name = MONTHS[month as usize - 1];
    let weekday = (day + FIRST_WEEKDAY - 1) % 7;
    // Of seven years two are leap years: 1992 and 1996.
    let leaps = [1992, 1996].iter().filter(|leap| **leap < year).count() as i32;
    let of_year = day - (year - 1992) * 365 - leaps + 1;
    format!(
        "{key}|{name} {of_month}, {year}|{}|{name}|{year}|{year}{month:02}|{}{year}|{}|{of_month}|\
         {of_year}|{month}|{}",
        WEEKDAYS[weekday as usize],
        &name[..3],
        weekday + 1,
        (of_year - 1) / 7 + 1,
    )
}
