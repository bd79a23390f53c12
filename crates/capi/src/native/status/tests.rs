use super::*;

#[test]
fn every_kind_of_error_has_its_name_and_its_state() {
    for kind in ErrorKind::ALL {
        let (_, name, state) =
            NAMES.iter().find(|(number, _, _)| *number == code(*kind)).expect("it is listed");
        let words: String = name.to_str().expect("it is ASCII").split('_').skip(1).collect();
        assert_eq!(words, format!("{kind:?}").to_uppercase());
        assert_eq!(state.to_str(), Ok(kind.sqlstate()));
    }
}
