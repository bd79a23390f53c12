//! Notifications as clients get them: while they wait and say nothing, with the answer to what they
//! ask, over TLS, and not within a transaction.

use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::channel::mpsc;
use tokio_postgres::{AsyncMessage, Client, Connection, Notification};

use crate::harness::Running;
use crate::raw::{Raw, message};

/// How long a notification may take, on a machine that others use.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a connection is told, as it comes.
fn notifications<T>(
    mut connection: Connection<tokio_postgres::Socket, T>,
) -> mpsc::UnboundedReceiver<Notification>
where
    T: tokio_postgres::tls::TlsStream + Unpin + Send + 'static,
{
    let (sender, receiver) = mpsc::unbounded();
    tokio::spawn(async move {
        let messages = futures::stream::poll_fn(|context| connection.poll_message(context));
        let mut messages = std::pin::pin!(messages);
        while let Some(Ok(message)) = messages.next().await {
            if let AsyncMessage::Notification(notification) = message
                && sender.unbounded_send(notification).is_err()
            {
                return;
            }
        }
    });
    receiver
}

async fn next(told: &mut mpsc::UnboundedReceiver<Notification>) -> (String, String) {
    let next = tokio::time::timeout(PATIENCE, told.next()).await.expect("it comes");
    let next = next.expect("the connection is there");
    (next.channel().to_owned(), next.payload().to_owned())
}

async fn exchange(hears: &Client, says: &Client, told: &mut mpsc::UnboundedReceiver<Notification>) {
    hears.batch_execute("listen news").await.unwrap();
    for number in 0..20 {
        // Now and then it works meanwhile.
        if number % 3 == 0 {
            hears.query("select $1::text", &[&"x"]).await.unwrap();
        }
        let payload = "x".repeat(400 * number as usize);
        says.execute("select pg_notify('news', $1)", &[&payload]).await.unwrap();
        assert_eq!(next(told).await, ("news".to_owned(), payload));
    }
    hears.batch_execute("begin").await.unwrap();
    says.batch_execute("notify news, 'late'").await.unwrap();
    hears.batch_execute("select 1").await.unwrap();
    assert!(told.try_recv().is_err(), "it is in a transaction");
    hears.batch_execute("commit").await.unwrap();
    assert_eq!(next(told).await.1, "late");
}

#[tokio::test(flavor = "multi_thread")]
async fn they_come_while_a_client_says_nothing() {
    let running = Running::trusting();
    let settings = running.settings("tester");
    let (hears, connection) =
        tokio_postgres::connect(&settings, tokio_postgres::NoTls).await.unwrap();
    let mut told = notifications(connection);
    let says = running.client().await;
    exchange(&hears, &says, &mut told).await;
    // Its own come before the statement is answered, with the number of the session.
    let row = hears.query_one("select pg_backend_pid()", &[]).await.unwrap();
    hears.batch_execute("notify news, 'own'").await.unwrap();
    let own = told.try_recv().expect("it was sent before the answer");
    assert_eq!((own.payload(), own.process_id()), ("own", row.get(0)));
    drop(hears);
    for _ in 0..50 {
        says.batch_execute("notify news, 'nobody'").await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn they_come_over_tls() {
    let (running, tls) = Running::over_tls();
    let mut session = running.database.session();
    let text = "create role ann password 'secret'";
    std::thread::spawn(move || session.execute(text).unwrap()).join().unwrap();
    let settings = running.tls_settings("ann");
    let (hears, connection) = tokio_postgres::connect(&settings, tls.clone()).await.unwrap();
    let mut told = notifications(connection);
    let (says, connection) = tokio_postgres::connect(&settings, tls).await.unwrap();
    tokio::spawn(connection);
    exchange(&hears, &says, &mut told).await;
}

#[test]
fn a_client_that_has_listened_is_let_alone_no_longer_than_before() {
    let running = Running::trusting();
    let mut raw = Raw::ready(running.port, "tester");
    assert_eq!(raw.query("set idle_session_timeout = 300; listen news").unwrap(), "");
    let mut other = Raw::ready(running.port, "other");
    let begun = Instant::now();
    // What it is told does not count as something that it says.
    let mut ended = false;
    while !ended && begun.elapsed() < PATIENCE {
        assert_eq!(other.query("notify news, 'x'").unwrap(), "");
        std::thread::sleep(Duration::from_millis(20));
        raw.socket.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        loop {
            match raw.next() {
                Ok(received) => ended |= received.kind == b'E',
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => break,
                Err(_) => {
                    ended = true;
                    break;
                }
            }
        }
    }
    assert!(ended, "the session is still there");
}

#[test]
fn half_a_message_is_not_disturbed() {
    let running = Running::trusting();
    let mut raw = Raw::ready(running.port, "tester");
    assert_eq!(raw.query("listen news").unwrap(), "");
    let mut other = Raw::ready(running.port, "other");
    let whole = message(b'Q', b"select 'whole'\0");
    for cut in 1..whole.len() {
        raw.send(&whole[..cut]);
        assert_eq!(other.query("notify news, 'x'").unwrap(), "");
        std::thread::sleep(Duration::from_millis(2));
        raw.send(&whole[cut..]);
        let answer = raw.answer().unwrap();
        let count = |kind| answer.iter().filter(|received| received.kind == kind).count();
        assert_eq!((count(b'D'), count(b'A'), count(b'E')), (1, 1, 0), "cut at {cut}");
    }
}
