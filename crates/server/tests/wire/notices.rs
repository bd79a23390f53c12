//! What a client receives beside an answer: how much it matters and of which kind it is, whatever
//! the names in its words.

use futures::StreamExt;
use futures::stream::poll_fn;
use tokio_postgres::{AsyncMessage, NoTls};

use crate::harness::Running;

#[tokio::test(flavor = "multi_thread")]
async fn notices_have_the_states_of_postgresql() {
    let running = Running::trusting();
    let settings = running.settings("tester");
    let (client, mut connection) = tokio_postgres::connect(&settings, NoTls).await.unwrap();
    let (sender, mut received) = futures::channel::mpsc::unbounded();
    let mut messages = poll_fn(move |context| connection.poll_message(context)).boxed();
    tokio::spawn(async move {
        while let Some(Ok(message)) = messages.next().await {
            if let AsyncMessage::Notice(notice) = message {
                sender.unbounded_send(notice).unwrap();
            }
        }
    });
    client.batch_execute("create table transaction_log (a int)").await.unwrap();
    for (text, severity, state) in [
        ("create table if not exists transaction_log (a int)", "NOTICE", "42P07"),
        ("create schema if not exists public", "NOTICE", "42P06"),
        ("alter table if exists transaction_list add column a int", "NOTICE", "00000"),
        ("commit", "WARNING", "25P01"),
        ("rollback", "WARNING", "25P01"),
        ("set transaction read only", "WARNING", "25P01"),
        ("begin; begin", "WARNING", "25001"),
    ] {
        client.batch_execute(text).await.unwrap();
        let notice = received.next().await.unwrap();
        let found = (notice.severity(), notice.code().code());
        assert_eq!(found, (severity, state), "{text}: {}", notice.message());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_is_a_field_and_no_words() {
    let client = Running::trusting();
    let client = client.client().await;
    let refused = client.batch_execute("select 1;\nselect 2 frm t where").await.unwrap_err();
    let error = refused.as_db_error().unwrap();
    assert_eq!(error.code().code(), "42601");
    assert!(!error.message().contains("Line"), "{}", error.message());
    let place = error.position().cloned();
    assert_eq!(place, Some(tokio_postgres::error::ErrorPosition::Original(24)));
}
