//! Requests as they come: whole, in pieces, and as noise.

use super::{Asked, HEAD_MAX, asked, metrics_answer};

fn status_of(asked: Asked) -> &'static str {
    match asked {
        Asked::Other { status, .. } => &status[..3],
        Asked::Incomplete => "incomplete",
        Asked::Metrics { .. } => "metrics",
    }
}

#[test]
fn every_beginning_of_a_request_is_incomplete() {
    let whole = b"GET /metrics?x=1 HTTP/1.1\r\nHost: a\r\n\r\n";
    for len in 0..whole.len() {
        assert_eq!(asked(&whole[..len]), Asked::Incomplete, "{len}");
    }
    assert_eq!(asked(whole), Asked::Metrics { head_only: false });
}

#[test]
fn what_is_no_request_for_metrics_is_said() {
    let requests: [(&[u8], &str); 7] = [
        (b"\x16\x03\x01\x02\x00\x01", "400"),
        (b"GET /metrics HTTP/9.9\r\n\r\n", "400"),
        (b"GET /other HTTP/1.1\r\n\r\n", "404"),
        (b"GET /metrics/ HTTP/1.1\r\n\r\n", "404"),
        (b"POST /metrics HTTP/1.1\r\n\r\n", "405"),
        (b"GET / HTTP/1.0\r\n\r\n", "200"),
        (b"HEAD /metrics HTTP/1.1\r\n\r\n", "metrics"),
    ];
    for (request, expected) in requests {
        assert_eq!(status_of(asked(request)), expected, "{request:?}");
    }
    let mut long = b"GET /metrics HTTP/1.1\r\nX: ".to_vec();
    long.resize(HEAD_MAX, b'x');
    assert_eq!(status_of(asked(&long)), "431");
    let many = format!("GET /metrics HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(65));
    assert_eq!(status_of(asked(many.as_bytes())), "400");
}

#[test]
fn a_head_has_the_length_and_no_body() {
    let answer = String::from_utf8(metrics_answer("12345", true)).expect("it is text");
    assert!(answer.contains("\r\nContent-Length: 5\r\n") && answer.ends_with("\r\n\r\n"));
}
