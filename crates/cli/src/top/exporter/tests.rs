//! What words mean, and answers as they may come.

use super::{Exporter, body, is_address};

#[test]
fn words_that_are_addresses() {
    for (word, expected) in [
        ("localhost:9187", true),
        ("127.0.0.1:80", true),
        ("[::1]:9187", true),
        ("9187", false),
        (":9187", false),
        ("db/metrics.sock", false),
        ("host:port", false),
        ("a/b:80", false),
    ] {
        assert_eq!(is_address(word), expected, "{word}");
    }
    assert_eq!(Exporter::find("h:1").ok(), Some(Exporter::Address("h:1".to_owned())));
    assert!(Exporter::find("/nowhere/at/all").is_err());
}

#[test]
fn answers_that_are_none() {
    for (answer, expected) in [
        ("", "does not speak HTTP"),
        ("220 smtp ready\r\n", "does not speak HTTP"),
        ("HTTP/1.1 200 OK\r\nContent-Le", "does not speak HTTP"),
        ("HTTP/1.1 404 Not Found\r\n\r\n", "404 Not Found"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", "not whole"),
    ] {
        let error = body(answer.as_bytes().to_vec()).unwrap_err();
        assert!(error.contains(expected), "{answer:?}: {error}");
    }
    let whole = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nx 1\n";
    assert_eq!(body(whole.as_bytes().to_vec()).as_deref(), Ok("x 1\n"));
}
