//! The proof of a password, by the example of the standard.

use super::*;

/// The example of RFC 7677, section 3.
#[test]
fn the_example_of_the_standard_is_proved() {
    let said = "n=user,r=rOprNGfwEbeRWgbNEkqO,\
                r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,\
                c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
    let stored = BASE64.decode("WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=").unwrap();
    let proof = BASE64.decode("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=").unwrap();
    let (stored, proof) = (Key::try_from(stored).unwrap(), Key::try_from(proof).unwrap());
    assert!(proves(&stored, said, &proof));
    assert!(!proves(&stored, &format!("{said} "), &proof));
}
