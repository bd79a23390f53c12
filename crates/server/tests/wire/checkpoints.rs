//! Checkpoints of a server: nobody has to write again for one that is due to be made.

use std::sync::Arc;
use std::time::{Duration, Instant};

use remanent_engine::{Database, Options};
use remanent_sql::SqlDatabase;

use crate::harness::Running;

/// Generous, for a machine that does much else.
const TIME_MAX: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_that_is_due_is_made_while_nobody_writes() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options::new().budget(64 << 20).checkpoint_after(256 << 10);
    let engine = Database::open_at(folder.path().join("db"), options).unwrap();
    let database = SqlDatabase::new(Arc::new(engine)).unwrap();
    let running = Running::of(database, |options| options.listen("127.0.0.1:0").trust(true));
    let client = running.client().await;
    let made = || running.database.engine().statistics().checkpoints;
    let before = made();
    // One transaction: it begins when none is due.
    let fill = "create table t as select i, repeat('x', 1000) t from generate_series(1, 2000) s(i)";
    client.batch_execute(fill).await.unwrap();
    let begun = Instant::now();
    while made() == before {
        assert!(begun.elapsed() < TIME_MAX, "no checkpoint was made");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
