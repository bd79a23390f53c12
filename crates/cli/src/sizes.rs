//! Numbers of bytes, as people write and read them.
//!
//! Units count by 1024: K, M, G and T, with or without `iB` or `B` behind them. What is printed is
//! rounded and meant for people, not to be parsed.

#[cfg(test)]
mod tests;

const UNITS: [char; 4] = ['K', 'M', 'G', 'T'];

/// Reads a number of bytes.
pub(crate) fn parse(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = unit.trim().to_ascii_uppercase();
    let letter = unit.strip_suffix("IB").or(unit.strip_suffix('B')).unwrap_or(&unit);
    let power = match letter {
        "" => 0,
        letter => 1 + UNITS.iter().position(|unit| letter == unit.to_string())?,
    };
    let factor = 1_u64 << (10 * power);
    if let Ok(number) = number.parse::<u64>() {
        return number.checked_mul(factor);
    }
    let bytes = number.parse::<f64>().ok()? * factor as f64;
    (power > 0 && bytes < 1e18).then_some(bytes as u64)
}

/// A number of bytes in words.
pub(crate) fn shown(bytes: u64) -> String {
    let power = (0..=UNITS.len()).rev().find(|power| bytes >> (10 * power) > 0).unwrap_or(0);
    match power {
        0 => format!("{bytes} bytes"),
        power => {
            let value = bytes as f64 / (1_u64 << (10 * power)) as f64;
            format!("{value:.1} {}iB", UNITS[power - 1])
        }
    }
}
