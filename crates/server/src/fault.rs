//! A panic that a test asks for by what it sends.
//!
//! Whatever a client sends, a panic of ours ends its session alone; here is one, for tests only.

/// Panics where a text asks for it.
pub(crate) fn fault(text: &str) {
    assert!(!text.starts_with("a fault"), "planted: {text}");
}
