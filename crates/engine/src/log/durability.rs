//! The durability levels: what a commit waits for.
//!
//! No level can leave a transaction half there. They differ in what an accident may take: always
//! the newest commits, never an older one without all that came after it.

use std::time::Duration;

/// What a commit has survived when it returns: one of the durability levels.
///
/// The first four are of this machine, and each contains those before it. The last two are of the
/// group of replicas that shares the database's log: they say what a majority of it has, which need
/// not be this machine. Without a group a commit that asks for them fails before it is made.
///
/// # Examples
/// ```
/// use remanent_engine::Durability;
/// assert!(Durability::Buffered < Durability::Os && Durability::Os < Durability::Disk);
/// assert_eq!("disk".parse(), Ok(Durability::Disk));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Durability {
    /// Nothing: it is in memory. In a database that has a log it is taken as `Buffered`, since
    /// later commits build on it.
    Memory,
    /// It is in the log's memory, which is written when it is full, when a later commit asks for
    /// more, and on close. Lost if the process dies before.
    Buffered,
    /// It was handed to the operating system. Survives the process; lost if the machine stops.
    Os,
    /// It is on the disk, as far as the disk is honest. Survives a loss of power.
    Disk,
    /// A majority of the group has it in memory. Survives the loss of a minority of the machines.
    Replicated,
    /// A majority of the group has it on their disks. Survives a loss of power everywhere.
    ReplicatedDisk,
}

impl Durability {
    /// All durability levels, lowest first.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::Durability;
    /// assert!(Durability::ALL.is_sorted());
    /// ```
    pub const ALL: [Self; 6] = [
        Self::Memory,
        Self::Buffered,
        Self::Os,
        Self::Disk,
        Self::Replicated,
        Self::ReplicatedDisk,
    ];

    /// Those that one machine can promise, lowest first.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::Durability;
    /// assert!(!Durability::LOCAL.contains(&Durability::Replicated));
    /// ```
    pub const LOCAL: [Self; 4] = [Self::Memory, Self::Buffered, Self::Os, Self::Disk];

    /// The level's name.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::Durability;
    /// assert_eq!(Durability::Os.name(), "os");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Buffered => "buffered",
            Self::Os => "os",
            Self::Disk => "disk",
            Self::Replicated => "replicated",
            Self::ReplicatedDisk => "replicated_disk",
        }
    }

    /// Whether it is the promise of a group of replicas.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::Durability;
    /// assert!(Durability::Replicated.is_of_group() && !Durability::Disk.is_of_group());
    /// ```
    pub fn is_of_group(self) -> bool {
        matches!(self, Self::Replicated | Self::ReplicatedDisk)
    }
}

impl std::str::FromStr for Durability {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|level| level.name() == text);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("`{text}` is not one of {names}")
        })
    }
}

/// A batch of commits: its limits, of which the first that is reached ends it.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use remanent_engine::Batch;
/// let batch = Batch { commits: 100, bytes: 1 << 20, time: Duration::from_millis(5) };
/// assert_eq!(Batch { commits: 100, ..Batch::NEVER }.bytes, u64::MAX);
/// # let _ = batch;
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Batch {
    /// So many commits.
    pub commits: u64,
    /// So many bytes of log.
    pub bytes: u64,
    /// So long since the first of them.
    pub time: Duration,
}

impl Batch {
    /// No limit at all; to change one field of.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::Batch;
    /// assert_eq!(Batch::NEVER.commits, u64::MAX);
    /// ```
    pub const NEVER: Self = Self { commits: u64::MAX, bytes: u64::MAX, time: Duration::MAX };
}
