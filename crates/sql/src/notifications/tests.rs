//! What is asked for and forgotten, and inboxes that are full.

use std::sync::Arc;

use super::{Channels, Inbox, Notification, Notifying, Wish};

fn of(inbox: &Inbox) -> Vec<String> {
    inbox.take().iter().map(|it| format!("{} {}", it.channel, it.payload)).collect()
}

#[test]
fn what_is_forgotten_is_not_said_and_nothing_is_said_twice() {
    let channels = Channels::default();
    let notifying = Notifying::over(&channels);
    channels.listen("a", &notifying.inbox, None);
    for payload in ["1", "2", "1"] {
        notifying.notify("a", payload).expect("it is short");
    }
    assert_eq!(notifying.len(), 2);
    notifying.ask(Wish::Listen("b".to_owned(), None));
    notifying.forget_since(1);
    // What was forgotten can be said again.
    for payload in ["2", "3"] {
        notifying.notify("a", payload).expect("it is short");
    }
    let asked = notifying.take();
    assert!(asked.notifies() && notifying.len() == 0);
    asked.carry_out(&channels, &notifying.inbox);
    assert_eq!(of(&notifying.inbox), ["a 1", "a 2", "a 3"]);
    assert_eq!(channels.of(&notifying.inbox), ["a"]);
    channels.unlisten(None, &notifying.inbox);
    assert!(channels.of(&notifying.inbox).is_empty());
}

#[test]
fn a_transaction_and_all_inboxes_hold_so_much() {
    let channels = Channels::default();
    let notifying = Notifying::over(&channels);
    let payload = "x".repeat(7000);
    let number = (0..).find(|i| notifying.notify("a", &format!("{payload}{i}")).is_err());
    assert!((1000..3000).contains(&number.expect("there is an end")), "{number:?}");

    channels.listen("a", &notifying.inbox, None);
    let mut count = 0;
    while channels.take_turn().is_ok() {
        let (channel, payload) = ("a".to_owned(), payload.clone());
        channels.tell(Notification { channel, payload, process: 1 });
        count += 1;
    }
    assert!((5_000..10_000).contains(&count), "{count}");
    assert!(channels.usage() >= 1.0);
    assert_eq!(notifying.inbox.take().len(), count);
    assert!(channels.take_turn().is_ok() && channels.usage() == 0.0);
}

#[test]
fn of_the_database_own_channels_the_newest_is_kept() {
    let channels = Arc::new(Channels::default());
    let inbox = channels.inbox();
    let (watched, begins) = channels.watch();
    assert!(begins && !channels.watch().1);
    channels.listen("remanent_changes", &inbox, Some(watched));
    for lsn in ["8", "16"] {
        channels.tell_newest("remanent_changes".to_owned(), lsn.to_owned());
    }
    assert_eq!(of(&inbox), ["remanent_changes 16"]);
    assert!(channels.look().is_some());
    channels.unlisten(Some("remanent_changes"), &inbox);
    assert!(channels.look().is_none() && channels.watch().1);
}
