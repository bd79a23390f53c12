//! Patterns of `to_char`, as PostgreSQL 15 answers them.

use super::numbers;
use crate::values::datum::Datum;

#[test]
fn numbers_are_shown_as_patterns_say() {
    for (unscaled, scale, pattern, expected) in [
        (12345, 1, "9,999.99", " 1,234.50"),
        (-5, 0, "999", "  -5"),
        (0, 0, "999", "   0"),
        (1, 1, "FM9990.00", "0.10"),
        (12, 0, "0000", " 0012"),
        (12, 0, "FM999.99", "12."),
        (15, 1, "FM9.99", "1.5"),
        (1234, 0, "999", " ###"),
        (5, 0, "S999", "  +5"),
        (485, 0, "999S", "485+"),
        (-485, 0, "999MI", "485-"),
        (-485, 0, "999PR", "<485>"),
        (485, 0, "999PR", " 485 "),
        (1, 1, "9.9", "  .1"),
        (1, 1, "0.9", " 0.1"),
        (1234567, 0, "9G999G999", " 1,234,567"),
        (12, 0, "9,999", "    12"),
        (-1, 1, "99.99", "  -.10"),
        (1999, 2, "99.9", " 20.0"),
    ] {
        let shown = numbers::shown(&Datum::Decimal(unscaled, scale), pattern).expect(pattern);
        assert_eq!(shown, expected, "{unscaled} {scale} {pattern}");
    }
}
