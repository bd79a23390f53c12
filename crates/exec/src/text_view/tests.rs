//! A view is made of two numbers that may overlap: it is what its parts are one behind the other.

use super::{TextViews, view_of};

/// The view as it is described, byte by byte.
fn described(text: &[u8], at: u32) -> u128 {
    let mut view = (text.len() as u32).to_le_bytes().to_vec();
    if text.len() <= 12 {
        view.extend(text);
        view.resize(16, 0);
    } else {
        view.extend(&text[..4]);
        view.extend([0; 4]);
        view.extend(at.to_le_bytes());
    }
    u128::from_le_bytes(view.try_into().expect("16 bytes"))
}

#[test]
fn views_of_all_lengths() {
    let text: Vec<u8> = (1..=40).map(|i| i * 6 + 1).collect();
    for len in 0..=text.len() {
        for from in 0..=text.len() - len {
            let text = &text[from..from + len];
            for at in [0, 7, u32::MAX] {
                assert_eq!(view_of(text, at), described(text, at), "{text:?} at {at}");
            }
        }
    }
}

#[test]
fn long_texts_lie_behind_one_another_and_short_ones_in_their_views() {
    let texts: [&[u8]; 5] =
        [b"", b"twelve bytes", b"thirteen byte", b"a", b"one that is much longer"];
    let views = TextViews::from_texts(texts.into_iter());
    let found: Vec<_> = (0..views.len()).map(|at| views.get(at, &[])).collect();
    assert_eq!(found, texts);
    let (_, bytes) = views.into_parts();
    assert_eq!(bytes.as_deref(), Some(&b"thirteen byteone that is much longer"[..]));
}
