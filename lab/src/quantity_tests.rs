use super::*;

#[test]
fn numbers_are_grouped() {
    assert_eq!(grouped(7), "7");
    assert_eq!(grouped(30_000), "30,000");
    assert_eq!(grouped(1_000_000), "1,000,000");
}

#[test]
fn units_fit() {
    assert_eq!(nanoseconds(56.78), "56.8");
    assert_eq!(nanoseconds(1_411.4), "1,411");
    assert_eq!(time(153.2), "153 ns");
    assert_eq!(time(1_500.0), "1.5 µs");
    assert_eq!(time(2_000_000.0), "2 ms");
    assert_eq!(time(3.25e9), "3.25 s");
    assert_eq!(rate(0.0), "-");
    assert_eq!(rate(200.0), "5M");
    assert_eq!(rate(36_275.0), "27.6k");
    assert_eq!(rate(5e6), "200");
    assert_eq!(rounded(51_234), 50_000);
    assert_eq!(factor(1.234), "1.23x");
    assert_eq!(factor(12.34), "12x");
    assert_eq!(bytes(110_592), "108 KiB");
    assert_eq!(bytes(17 << 20), "17.0 MiB");
    assert_eq!(bytes(4 << 30), "4.00 GiB");
}
