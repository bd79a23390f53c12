//! EXPLAIN ANALYZE of statements that change rows: they are run, and the plans of what they read
//! tell what they did.

use remanent_sql::{Session, SqlDatabase, SqlState};

fn session() -> Session {
    let mut session = SqlDatabase::in_memory().unwrap().session();
    session
        .execute(
            "create table part (id int primary key, price int); \
             insert into part select k, k * 10 from generate_series(1, 100) as s(k)",
        )
        .unwrap();
    session
}

fn text(session: &mut Session, statement: &str) -> String {
    let rows = session.query(statement, &[]).unwrap().rows;
    let lines: Vec<String> = rows.iter().flatten().map(ToString::to_string).collect();
    lines.join("\n")
}

#[test]
fn changes_are_made_and_tell_what_they_read() {
    let mut session = session();
    let explained = text(&mut session, "explain analyze update part set price = 0 where id < 11");
    assert!(explained.starts_with("Update\n"), "{explained}");
    assert!(explained.contains("output_rows=10"), "{explained}");
    assert!(explained.contains("UPDATE 10, ") && explained.ends_with(" ms"), "{explained}");
    let explained =
        text(&mut session, "explain (analyze) delete from part where price = 0 returning id");
    assert!(explained.starts_with("Delete\n") && explained.contains("DELETE 10, "), "{explained}");
    let insert = "explain analyze insert into part select id + 1000, 1 from part where id > 90";
    let explained = text(&mut session, insert);
    assert!(
        explained.starts_with("Insert\n") && explained.contains("INSERT 0 10, "),
        "{explained}"
    );
    assert_eq!(text(&mut session, "select count(*), max(id) from part"), "100\n1100");
    // Without ANALYZE nothing changes, nor in a block that is rolled back.
    let explained = text(&mut session, "explain delete from part");
    assert!(explained.starts_with("Delete\n") && !explained.contains("output_rows"), "{explained}");
    session.execute("begin").unwrap();
    text(&mut session, "explain analyze delete from part");
    assert_eq!(text(&mut session, "select count(*) from part"), "0");
    session.execute("rollback").unwrap();
    assert_eq!(text(&mut session, "select count(*) from part"), "100");
}

#[test]
fn what_fails_changes_nothing_and_is_forgotten() {
    let mut session = session();
    let insert = "explain analyze insert into part select id + 50, 1 from part";
    let error = session.execute(insert).unwrap_err();
    assert_eq!(error.state(), SqlState::UNIQUE_VIOLATION);
    assert_eq!(text(&mut session, "select count(*) from part"), "100");
    let explained = text(&mut session, "explain analyze select * from part where id = 7");
    assert!(!explained.contains("INSERT") && explained.contains("1 rows, "), "{explained}");
}

/// What EXPLAIN shows, and what EXPLAIN ANALYZE does, is what the statement itself may.
#[test]
fn roles_explain_what_they_may_run() {
    let mut session = session();
    session.execute("create role reader; grant select on part to reader").unwrap();
    session.act_as("reader").unwrap();
    text(&mut session, "explain select * from part");
    text(&mut session, "explain analyze select * from part");
    for refused in ["explain delete from part", "explain analyze delete from part"] {
        let error = session.query(refused, &[]).unwrap_err();
        assert_eq!(error.state(), SqlState::NO_PRIVILEGE, "{refused}");
    }
    assert_eq!(text(&mut session, "select count(*) from part"), "100");
}

/// Two items of one name are told apart in a plan, by what nobody has to see.
#[test]
fn names_that_repeat_are_shown_as_they_are() {
    let mut session = session();
    for explain in ["explain", "explain verbose", "explain analyze", "explain (format json)"] {
        let query = format!(
            "{explain} select sum(price), sum(id), * from (select price, price, id from part) p \
             group by 3, 4, 5"
        );
        let rows = session.query(&query, &[]).expect(&query).rows;
        let plan: String = rows.iter().map(|row| row[0].to_string()).collect();
        assert!(plan.contains("as sum") && plan.contains("price"), "{plan}");
        assert!(!plan.contains('\u{1}') && !plan.contains("u0001"), "{plan}");
    }
}

#[test]
fn a_plan_is_json_when_it_is_asked_for_so() {
    let mut session = session();
    for (statement, node) in [
        ("explain (format json) select sum(price) from part where id > 5", "Exec"),
        ("explain (format json) update part set price = 1", "ModifyTable"),
    ] {
        let plan: serde_json::Value = serde_json::from_str(&text(&mut session, statement)).unwrap();
        let top = &plan[0]["Plan"];
        assert!(top["Node Type"].as_str().unwrap().contains(node), "{plan}");
        assert!(top["Plans"].as_array().is_some_and(|below| !below.is_empty()), "{plan}");
    }
    assert_eq!(text(&mut session, "select min(price) from part"), "10");
    // Which operators are DataFusion's is told: projections are, others are not.
    let sorted = "explain (format json) select price, count(*) from part group by price \
                  order by 2 limit 7";
    let plan: serde_json::Value = serde_json::from_str(&text(&mut session, sorted)).unwrap();
    let mut node = &plan[0]["Plan"];
    let mut operators = Vec::new();
    loop {
        operators.push((node["Node Type"].as_str().unwrap(), node["Native"].as_bool().unwrap()));
        match node["Plans"].as_array() {
            Some(below) => node = &below[0],
            None => break,
        }
    }
    assert!(operators.contains(&("ProjectionExec", false)), "{plan}");
    assert!(operators.contains(&("TopKExec", true)), "{plan}");
    assert!(operators.contains(&("GroupsExec", true)), "{plan}");
    assert_eq!(operators.last(), Some(&("ScanExec", true)), "{plan}");
    let refused = session.execute("explain (analyze, format json) select 1").unwrap_err();
    assert_eq!(refused.state(), SqlState::FEATURE_NOT_SUPPORTED);
}
