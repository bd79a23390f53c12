//! A request, and what is answered: the whole of HTTP that is needed here.
//!
//! The library takes the head apart; what it finds wrong is answered with 400. A request has no
//! body that matters, and a connection takes one request.

use httparse::{EMPTY_HEADER, Request, Status};

/// The most bytes that the head of a request may have, and header lines in it.
pub(crate) const HEAD_MAX: usize = 8 << 10;
const HEADERS_MAX: usize = 64;

const TEXT: &str = "text/plain; charset=utf-8";
/// The text format of Prometheus, version 0.0.4.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The state of the bytes that were received so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Asked {
    /// More is to come.
    Incomplete,
    /// The metrics, or only the head of such an answer.
    Metrics { head_only: bool },
    /// Something that is answered without them.
    Other { status: &'static str, text: &'static str },
}

/// What was asked for.
pub(crate) fn asked(received: &[u8]) -> Asked {
    let mut headers = [EMPTY_HEADER; HEADERS_MAX];
    let mut request = Request::new(&mut headers);
    let other = |status, text| Asked::Other { status, text };
    match request.parse(received) {
        Ok(Status::Partial) if received.len() < HEAD_MAX => return Asked::Incomplete,
        Ok(Status::Partial) => {
            return other("431 Request Header Fields Too Large", "the request is too long\n");
        }
        Ok(Status::Complete(_)) => {}
        Err(_) => return other("400 Bad Request", "this is not HTTP\n"),
    }
    let path = request.path.unwrap_or("").split('?').next();
    let head_only = request.method == Some("HEAD");
    match (path, request.method) {
        (Some("/metrics"), Some("GET" | "HEAD")) => Asked::Metrics { head_only },
        (Some("/"), Some("GET" | "HEAD")) => other("200 OK", "metrics are at /metrics\n"),
        (Some("/metrics" | "/"), _) => {
            other("405 Method Not Allowed", "metrics are read with GET\n")
        }
        _ => other("404 Not Found", "metrics are at /metrics\n"),
    }
}

/// The bytes of an answer with the metrics.
pub(crate) fn metrics_answer(text: &str, head_only: bool) -> Vec<u8> {
    answer("200 OK", METRICS, text, head_only)
}

/// The bytes of another answer.
pub(crate) fn plain_answer(status: &str, text: &str) -> Vec<u8> {
    answer(status, TEXT, text, false)
}

fn answer(status: &str, kind: &str, text: &str, head_only: bool) -> Vec<u8> {
    let allow = if status.starts_with("405") { "Allow: GET, HEAD\r\n" } else { "" };
    let body = if head_only { "" } else { text };
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{allow}\
         Connection: close\r\n\r\n{body}",
        text.len()
    )
    .into_bytes()
}

#[cfg(test)]
mod tests;
