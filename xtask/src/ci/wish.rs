//! What was asked for on the command line.
//!
//! Flags that contradict each other are refused here, so that a run never does less than its words
//! say.

/// The flags and the steps that were named.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Wish {
    pub(super) list: bool,
    /// Also what other runs have their turn for.
    pub(super) all: bool,
    pub(super) turn: Option<u64>,
    pub(super) names: Vec<String>,
}

impl Wish {
    pub(super) fn read(arguments: &[String]) -> Result<Self, String> {
        let mut wish = Self::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "list" => wish.list = true,
                "--all" => wish.all = true,
                "--turn" => {
                    let number = words.next().and_then(|number| number.parse().ok());
                    wish.turn = Some(number.ok_or("--turn takes a number")?);
                }
                flag if flag.starts_with('-') => {
                    return Err(format!("there is no flag `{flag}`; --all and --turn N are"));
                }
                name => wish.names.push(name.to_owned()),
            }
        }
        if wish.all && wish.turn.is_some() {
            return Err("--all has every turn; leave out --turn".to_owned());
        }
        if wish.list && wish != (Self { list: true, ..Self::default() }) {
            return Err("`list` stands alone".to_owned());
        }
        Ok(wish)
    }
}
