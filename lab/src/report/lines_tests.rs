use super::*;
use crate::quantity;

#[test]
fn a_line_goes_up_as_its_numbers_do() {
    let text = lines(&drawing(vec![series("a", Kind::Ours, &[(0.0, 100.0), (10.0, 1000.0)])]));
    let path = text.split("d=\"M").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let numbers: Vec<f64> = path.split(['L', ' ']).map(|number| number.parse().unwrap()).collect();
    let [x0, y0, x1, y1] = numbers[..] else { panic!("{path}") };
    assert!(x0 < x1 && y0 > y1, "{path}");
    assert!(text.contains("<title>a, 10: 1 µs</title>"), "{text}");
}

#[test]
fn lines_of_one_colour_have_their_own_dashes() {
    let at = [(0.0, 5.0), (2.0, 6.0)];
    let kinds = [Kind::Memory, Kind::Ours, Kind::Memory, Kind::NoTransactions];
    let all = kinds.map(|kind| series("x", kind, &at)).into();
    let text = lines(&drawing(all));
    for class in ["dash0 memory", "dash0 ours", "dash1 memory", "dash0 none"] {
        assert!(text.contains(class), "{class} is not in\n{text}");
    }
}

#[test]
fn names_do_not_cover_each_other() {
    let names = ["one", "two", "three"];
    let text = lines(&drawing(
        names.map(|name| series(name, Kind::Memory, &[(0.0, 5.0), (2.0, 6.0)])).into(),
    ));
    let mut places: Vec<f64> = names
        .iter()
        .map(|name| {
            let before = text.split(&format!("\">{name}<")).next().unwrap();
            before.rsplit("y=\"").next().unwrap().parse().unwrap()
        })
        .collect();
    places.sort_by(f64::total_cmp);
    assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= 12.9), "{places:?}");
}

#[test]
fn steps_are_round_and_nothing_is_drawn_of_nothing() {
    assert_eq!([0.7, 1.0, 1.2, 30.0, 70.0].map(round_step), [1.0, 1.0, 2.0, 50.0, 100.0]);
    assert_eq!(lines(&drawing(Vec::new())), "");
}

fn series(label: &str, kind: Kind, points: &[(f64, f64)]) -> Series {
    Series { label: label.to_owned(), kind, points: points.to_vec() }
}

fn drawing(series: Vec<Series>) -> Drawing<'static> {
    Drawing {
        title: "a title",
        series,
        upright: Upright::Logarithmic,
        x_words: |x| format!("{x}"),
        y_words: quantity::time,
    }
}
