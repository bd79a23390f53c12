//! Sequences: numbers given out one after the other, each once, kept in a record of a database.
//!
//! The record holds the next number and the rules, in 40 bytes, integers little-endian: the format
//! (1), whether it wraps, whether it is used up, five zeros; then next number, least, greatest and
//! increment in eight bytes each. A cache takes several numbers in one transaction and gives them
//! out without one; those that are left when the program ends are lost, and no number comes twice.

use std::sync::{Mutex, PoisonError};

use remanent_engine::{Error, ErrorKind, Result, WriteTransaction};

use crate::database::KvDatabase;

const LEN: usize = 40;
const FORMAT: u8 = 1;

/// How a sequence counts.
///
/// # Examples
/// ```
/// use remanent_kv::SequenceOptions;
/// let days = SequenceOptions::new().range(1, 7).wrap(true);
/// assert_eq!(days, SequenceOptions::new().wrap(true).range(1, 7));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SequenceOptions {
    initial: Option<i64>,
    range: (i64, i64),
    increment: i64,
    wrap: bool,
    cache: u32,
}

impl SequenceOptions {
    /// From 0 upwards in steps of 1, up to the greatest `i64`, without a cache.
    ///
    /// # Examples
    /// ```
    /// use remanent_kv::SequenceOptions;
    /// assert_eq!(SequenceOptions::new(), SequenceOptions::default());
    /// ```
    pub fn new() -> Self {
        Self { initial: None, range: (0, i64::MAX), increment: 1, wrap: false, cache: 1 }
    }

    /// The first number; without it, the end of the range from which it counts.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions, Sequence, SequenceOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// let options = SequenceOptions::new().initial(1000);
    /// let orders = Sequence::open(&database, b"orders", options)?;
    /// assert_eq!((orders.next()?, orders.next()?), (1000, 1001));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn initial(self, number: i64) -> Self {
        Self { initial: Some(number), ..self }
    }

    /// The least and the greatest number.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{ErrorKind, Options};
    /// # use remanent_kv::{Environment, KvOptions, Sequence, SequenceOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// let two = Sequence::open(&database, b"two", SequenceOptions::new().range(1, 2))?;
    /// assert_eq!((two.next()?, two.next()?), (1, 2));
    /// assert_eq!(two.next().unwrap_err().kind(), ErrorKind::LimitReached);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn range(self, least: i64, greatest: i64) -> Self {
        Self { range: (least, greatest), ..self }
    }

    /// By how much each number is greater than the one before; negative to count downwards.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions, Sequence, SequenceOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// let options = SequenceOptions::new().range(0, 100).increment(-10);
    /// let down = Sequence::open(&database, b"down", options)?;
    /// assert_eq!((down.next()?, down.next()?), (100, 90));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn increment(self, increment: i64) -> Self {
        Self { increment, ..self }
    }

    /// Whether it goes on at the other end of the range when it is used up.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions, Sequence, SequenceOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// let options = SequenceOptions::new().range(1, 2).wrap(true);
    /// let bits = Sequence::open(&database, b"bits", options)?;
    /// assert_eq!((bits.next()?, bits.next()?, bits.next()?), (1, 2, 1));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn wrap(self, wrap: bool) -> Self {
        Self { wrap, ..self }
    }

    /// How many numbers are taken out of the database at once; 1, which is none ahead, unless set.
    /// It is the handle's own and not kept with the sequence.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions, Sequence, SequenceOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// let ids = Sequence::open(&database, b"ids", SequenceOptions::new().cache(100))?;
    /// assert_eq!((ids.next()?, ids.next()?), (0, 1));
    /// // Another handle does not give out what the first one has taken.
    /// let other = Sequence::open(&database, b"ids", SequenceOptions::new())?;
    /// assert_eq!(other.next()?, 100);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn cache(self, numbers: u32) -> Self {
        Self { cache: numbers, ..self }
    }

    /// The state that a new sequence begins with.
    fn state(&self) -> Result<State> {
        let refuse = |because| Err(Error::new(ErrorKind::InvalidOptions).because(because));
        let (least, greatest) = self.range;
        if least > greatest {
            return refuse("the range of the sequence is empty");
        }
        if self.increment == 0 {
            return refuse("the increment of a sequence is not 0");
        }
        if self.cache == 0 {
            return refuse("the cache of a sequence holds at least 1 number");
        }
        let start = if self.increment > 0 { least } else { greatest };
        let next = self.initial.unwrap_or(start);
        if !(least..=greatest).contains(&next) {
            return refuse("the sequence begins outside its range");
        }
        let (increment, wrap) = (self.increment, self.wrap);
        Ok(State { next, least, greatest, increment, wrap, used_up: false })
    }
}

impl Default for SequenceOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// A sequence of numbers that a record of a database keeps. Share it between threads by reference.
///
/// # Examples
/// ```
/// use remanent_engine::Options;
/// use remanent_kv::{Environment, KvOptions, Sequence, SequenceOptions};
/// let environment = Environment::open(Options::new())?;
/// let database = environment.create("sequences", KvOptions::hashed())?;
/// let ids = Sequence::open(&database, b"ids", SequenceOptions::new().initial(1))?;
/// assert_eq!(ids.next()?, 1);
/// assert_eq!(ids.next()?, 2);
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Debug)]
pub struct Sequence {
    database: KvDatabase,
    key: Vec<u8>,
    cache: u32,
    increment: i64,
    ahead: Mutex<Ahead>,
}

/// Numbers that were taken and not given out.
#[derive(Debug, Default)]
struct Ahead {
    next: i64,
    left: u64,
}

/// What the record says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct State {
    next: i64,
    least: i64,
    greatest: i64,
    increment: i64,
    wrap: bool,
    used_up: bool,
}

impl Sequence {
    /// Opens the sequence that a key keeps, and creates it if there is none; then the options
    /// count. Of one that is there already, all but the cache count that it was created with.
    ///
    /// # Errors
    /// `InvalidOptions`: an empty range, an increment or a cache of 0, a first number outside the
    /// range, a database with duplicates; `WrongType` if the key has a value that is no sequence;
    /// as [`KvDatabase::put`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{ErrorKind, Options};
    /// # use remanent_kv::{Environment, KvOptions, Sequence, SequenceOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// database.auto_commit().put(b"k", b"something else")?;
    /// let error = Sequence::open(&database, b"k", SequenceOptions::new()).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::WrongType);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn open(database: &KvDatabase, key: &[u8], options: SequenceOptions) -> Result<Self> {
        let fresh = options.state()?;
        if database.options().has_duplicates() {
            return Err(Error::new(ErrorKind::InvalidOptions)
                .because(format!("`{}` has duplicates, a sequence one record", database.name())));
        }
        let state = database.shared.database.write(|tx| match database.get(tx, key)? {
            Some(value) => State::of(value),
            None => database.put(tx, key, &fresh.to_bytes()).map(|()| fresh),
        })?;
        Ok(Self {
            database: database.clone(),
            key: key.to_vec(),
            cache: options.cache,
            increment: state.increment,
            ahead: Mutex::default(),
        })
    }

    /// The next number, from the cache or in a transaction of its own.
    ///
    /// # Errors
    /// `LimitReached` if the range is used up and it does not wrap; `RowNotFound` if the record
    /// was deleted; `Conflict` after 10,000 attempts.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions, Sequence, SequenceOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// let ids = Sequence::open(&database, b"ids", SequenceOptions::new().cache(10))?;
    /// let numbers: Vec<i64> = (0..3).map(|_| ids.next()).collect::<Result<_, _>>()?;
    /// assert_eq!(numbers, [0, 1, 2]);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn next(&self) -> Result<i64> {
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        if ahead.left == 0 {
            let wanted = u64::from(self.cache);
            let (next, left) = self.database.shared.database.write(|tx| self.take(tx, wanted))?;
            *ahead = Ahead { next, left };
        }
        let number = ahead.next;
        ahead.left -= 1;
        if ahead.left > 0 {
            ahead.next += self.increment;
        }
        Ok(number)
    }

    /// The next number of the record, in a transaction: taken back if it is. The cache is neither
    /// used nor filled. Others who want a number meanwhile meet a conflict.
    ///
    /// # Errors
    /// As [`Sequence::next`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions, Sequence, SequenceOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// let ids = Sequence::open(&database, b"ids", SequenceOptions::new())?;
    /// let tx = environment.begin_write()?;
    /// assert_eq!(ids.next_in(&tx)?, 0);
    /// tx.roll_back();
    /// assert_eq!(ids.next()?, 0);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn next_in(&self, tx: &WriteTransaction<'_>) -> Result<i64> {
        self.take(tx, 1).map(|(number, _)| number)
    }

    /// Takes up to `wanted` numbers that follow one another; gives the first and how many.
    fn take(&self, tx: &WriteTransaction<'_>, wanted: u64) -> Result<(i64, u64)> {
        let Some(value) = self.database.get(tx, &self.key)? else {
            return Err(Error::new(ErrorKind::RowNotFound).because("the sequence was deleted"));
        };
        let mut state = State::of(value)?;
        let taken = state.take(wanted)?;
        self.database.put(tx, &self.key, &state.to_bytes())?;
        Ok(taken)
    }
}

impl State {
    fn to_bytes(self) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        bytes[..3].copy_from_slice(&[FORMAT, self.wrap.into(), self.used_up.into()]);
        let numbers = [self.next, self.least, self.greatest, self.increment];
        for (place, number) in bytes[8..].chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    fn of(value: &[u8]) -> Result<Self> {
        let wrong = || Error::new(ErrorKind::WrongType).because("the key's value is no sequence");
        let (numbers, rest) = value.as_chunks::<8>();
        let &[head, next, least, greatest, increment] = numbers else { return Err(wrong()) };
        let number = i64::from_le_bytes;
        let state = Self {
            next: number(next),
            least: number(least),
            greatest: number(greatest),
            increment: number(increment),
            wrap: head[1] == 1,
            used_up: head[2] == 1,
        };
        let whole = rest.is_empty() && state.increment != 0;
        let inside = (state.least..=state.greatest).contains(&state.next);
        if whole && inside && state.to_bytes() == value { Ok(state) } else { Err(wrong()) }
    }

    /// Takes up to `wanted` numbers that follow one another; gives the first and how many.
    fn take(&mut self, wanted: u64) -> Result<(i64, u64)> {
        if self.used_up && !self.wrap {
            return Err(Error::new(ErrorKind::LimitReached).because("the sequence is used up"));
        }
        let upwards = self.increment > 0;
        if self.used_up {
            self.next = if upwards { self.least } else { self.greatest };
            self.used_up = false;
        }
        let first = self.next;
        let end = if upwards { self.greatest } else { self.least };
        // At least 1: the first is inside the range.
        let there = end.abs_diff(first) / self.increment.unsigned_abs();
        let count = wanted.min(there.saturating_add(1));
        self.used_up = count > there;
        let steps = i128::from(if self.used_up { count - 1 } else { count });
        let next = i128::from(first) + steps * i128::from(self.increment);
        self.next = i64::try_from(next).map_err(|_| Error::new(ErrorKind::LimitReached))?;
        Ok((first, count))
    }
}

#[cfg(test)]
mod tests;
