//! What is asked of `cargo xtask powerloss`, and the seed that everything is drawn from.
//!
//! The same seed draws the same moments; what the writer does until then depends on the machine.

use std::hash::{BuildHasher, RandomState};

use super::file_system::Kind;

pub(super) const HELP: &str = "cargo xtask powerloss N [--fs ext4,xfs] [--seed S]

N rounds on each file system: a writer commits, the file system is shut down at a random moment
without flushing anything, the writer is killed, the file system is mounted again, and every commit
that was acknowledged must be there, in order and whole. Every fifth round is a control at the
levels os and buffered, which has to lose something.

Needs root, loop devices, mount, mkfs and xfs_io:  apt-get install -y e2fsprogs xfsprogs
Everything is written below target/powerloss and removed afterwards. If the run itself is killed, a
mount may be left there; the next run removes it.

Covers: what the file system and the system's caches lose. Does not cover the cache of a disk: a
loop device keeps every write that reaches it, in any order.";

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) rounds: u64,
    pub(super) kinds: Vec<Kind>,
    pub(super) seed: u64,
    pub(super) help: bool,
}

impl Request {
    /// Reads the arguments.
    pub(super) fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut request = Self {
            rounds: 50,
            kinds: Kind::ALL.to_vec(),
            // Keys of a hasher are drawn by the system.
            seed: RandomState::new().hash_one(0) >> 32,
            help: false,
        };
        let mut words = arguments.iter().map(String::as_str);
        while let Some(word) = words.next() {
            match word {
                "help" | "--help" => request.help = true,
                "--fs" => {
                    let names = words.next().unwrap_or_default().split(',');
                    request.kinds = names.map(Kind::parse).collect::<Result<_, _>>()?;
                }
                "--seed" => request.seed = number(words.next().unwrap_or_default())?,
                rounds => request.rounds = number(rounds)?,
            }
        }
        Ok(request)
    }
}

fn number(word: &str) -> Result<u64, String> {
    word.parse().map_err(|_| format!("`{word}` is not a number; `cargo xtask powerloss help`"))
}

/// Random numbers from a seed (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators,
/// 2014).
#[derive(Clone, Debug)]
pub(super) struct Random(pub(super) u64);

impl Random {
    /// A number from 0 to below `limit`.
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}
