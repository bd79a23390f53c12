//! Numbers as people read them: thousands apart, times and bytes with the unit that fits.
//!
//! The terminal and the page use the same words, so that a figure can be found in both.

/// A whole number with its thousands apart.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Nanoseconds of one operation: whole ones, and a tenth where that still says something.
pub(crate) fn nanoseconds(ns: f64) -> String {
    if ns < 100.0 { format!("{ns:.1}") } else { grouped(ns.round() as u64) }
}

/// A time with the unit that fits.
pub(crate) fn time(ns: f64) -> String {
    match ns {
        ns if ns < 1e3 => format!("{} ns", significant(ns)),
        ns if ns < 1e6 => format!("{} µs", significant(ns / 1e3)),
        ns if ns < 1e9 => format!("{} ms", significant(ns / 1e6)),
        ns => format!("{} s", significant(ns / 1e9)),
    }
}

/// Operations in a second of CPU time, to three digits.
pub(crate) fn rate(ns_per_operation: f64) -> String {
    if ns_per_operation <= 0.0 {
        return "-".to_owned();
    }
    match 1e9 / ns_per_operation {
        rate if rate >= 1e6 => format!("{}M", significant(rate / 1e6)),
        rate if rate >= 1e3 => format!("{}k", significant(rate / 1e3)),
        rate => significant(rate),
    }
}

/// The leading digit alone, so that rounds which stopped nearby say the same.
pub(crate) fn rounded(number: u64) -> u64 {
    let magnitude = 10_u64.pow(number.max(1).ilog10());
    (number / magnitude).max(1) * magnitude
}

/// A ratio, as a factor.
pub(crate) fn factor(ratio: f64) -> String {
    if ratio < 10.0 { format!("{ratio:.2}x") } else { format!("{ratio:.0}x") }
}

/// Bytes with the unit that fits.
pub(crate) fn bytes(bytes: u64) -> String {
    match bytes as f64 / 1024.0 {
        kib if kib < 1000.0 => format!("{kib:.0} KiB"),
        kib if kib < 1000.0 * 1024.0 => format!("{:.1} MiB", kib / 1024.0),
        kib => format!("{:.2} GiB", kib / 1024.0 / 1024.0),
    }
}

/// Three digits, without zeros behind the point.
fn significant(value: f64) -> String {
    let text = match value {
        value if value < 10.0 => format!("{value:.2}"),
        value if value < 100.0 => format!("{value:.1}"),
        value => return format!("{value:.0}"),
    };
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
#[path = "quantity_tests.rs"]
mod tests;
