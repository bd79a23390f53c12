use super::*;

const TOTALS: [f64; 5] = [1.0, 2.0, 4.0, 8.0, 16.0];

#[test]
fn the_exponent_of_a_power_is_found() {
    for exponent in [0.0, 0.5, 1.0, 1.3, 2.0] {
        let points = TOTALS.map(|total| (total * 1e9, 1e8 * total.powf(exponent)));
        let growth = Growth::of(&points).unwrap();
        assert!((growth.exponent - exponent).abs() < 1e-9, "{growth:?}");
    }
}

#[test]
fn words_say_what_an_exponent_means() {
    let words = |exponent| Growth { exponent }.to_string();
    assert_eq!(words(1.0), "1.00 linear");
    assert_eq!(words(0.2), "0.20 less than linear");
    assert_eq!(words(1.5), "1.50 more than linear");
    assert!(Growth { exponent: 1.15 }.is_at_most_linear());
    assert!(!Growth { exponent: 1.16 }.is_at_most_linear());
}

#[test]
fn noise_around_a_line_is_a_line() {
    let noise = [1.1, 0.92, 1.05, 0.95, 1.02];
    let points: Vec<_> =
        TOTALS.iter().zip(noise).map(|(&total, noise)| (total, total * noise * 1e8)).collect();
    assert_eq!(Growth::of(&points).unwrap().to_string(), "0.98 linear");
}

#[test]
fn nothing_is_fitted_to_what_says_nothing() {
    assert_eq!(Growth::of(&[(1.0, 1e9), (2.0, 2e9)]), None);
    assert_eq!(Growth::of(&[(1.0, 1e9), (1.0, 2e9), (1.0, 3e9)]), None);
    assert_eq!(Growth::of(&[(1.0, 0.0), (2.0, 2e9), (4.0, 3e9)]), None);
    assert_eq!(Growth::of(&TOTALS.map(|total| (total, total * 1e3))), None, "too short");
}
