//! Reading a log back, and distinguishing its end from damage.
//!
//! A log ends where no whole frame follows: what was not synced when the machine stopped may be
//! missing, in whole or in part. It is *damaged* there if something later shows that it had been
//! longer: a frame, in this file or a later one, which says that all before it was synced; or the
//! head, which says that there is a file, how long it is, and up to where all was synced. Where
//! the file that the head names has no header, the head's copy stands in, so that what is in it
//! can be read; but it is damaged.

use std::io;

use super::file::{self, DatabaseId, Header};
use super::head::{self, LogHead};
use super::record::{Frame, FrameAddress, PAYLOAD_MAX, find_frame};
use crate::storage::{Storage, StorageFile, read_at_most, write_all_at};

/// The location of a frame, to read it again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FrameAt {
    file: usize,
    offset: usize,
    /// The byte of the file at which it begins.
    pub(crate) byte: u64,
    pub(crate) position: u64,
    /// Whether it says that all before it was synced.
    pub(crate) synced_before: bool,
}

/// The damage of a log.
///
/// # Examples
/// ```
/// use remanent_engine::{Database, Options};
/// // A database in memory cannot have lost anything.
/// assert!(Database::open(Options::new())?.damage().is_none());
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Damage {
    /// The file in which something is wrong.
    pub file: String,
    /// From which byte of the file on.
    pub offset: u64,
    /// The timestamp of the last commit before that: what the database is opened with.
    pub last_good: u64,
    /// Commits that could be made out behind it; what lies in between is unknown.
    pub commits_behind: u64,
    /// A description.
    pub what: String,
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { file, offset, last_good, commits_behind, what } = self;
        write!(
            f,
            "{file}, byte {offset}: {what}; the last good commit is {last_good}, at least \
             {commits_behind} later commits are out of reach"
        )
    }
}

/// The next item of a log.
#[derive(Debug)]
pub(crate) enum Next<'r> {
    Frame { frame: Frame<'r>, at: FrameAt },
    End(End),
}

/// The end of a log.
#[derive(Clone, Debug)]
pub(crate) struct End {
    pub(crate) position: u64,
    pub(crate) timestamp: u64,
    pub(crate) damage: Option<Damage>,
}

/// Reads the frames of a log in order.
#[derive(Debug)]
pub(crate) struct Reader<'s> {
    storage: &'s dyn Storage,
    files: Vec<Header>,
    /// Numbers of files whose header is none.
    headless: Vec<u64>,
    head: Option<LogHead>,
    /// Whether the file that the head names is not there, or has no header.
    is_beheaded: bool,
    /// Whether there is a head at all, and whether a frame was read that was written behind one.
    has_head: bool,
    must_be_headed: bool,
    current: usize,
    bytes: Vec<u8>,
    offset: usize,
    timestamp: u64,
    /// The position before which a frame says that all was synced.
    sure: u64,
    /// Bytes of the files before the open one.
    passed: u64,
}

/// Why a log cannot be read from a position on at all.
#[derive(Debug)]
pub(crate) enum Unreadable {
    Io(io::Error),
    /// A file of another database lies among them.
    Foreign(String),
    /// No file has the position.
    Missing(u64),
}

impl From<io::Error> for Unreadable {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl<'s> Reader<'s> {
    /// A reader from `position` on, where a file begins. `None` if there are no files.
    ///
    /// # Errors
    /// As [`Unreadable`] says.
    pub(crate) fn open(
        storage: &'s dyn Storage,
        database: Option<DatabaseId>,
        position: u64,
    ) -> Result<Option<Self>, Unreadable> {
        let (mut files, mut headless) = (Vec::new(), Vec::new());
        let mut database = database;
        for number in file::numbers(storage)? {
            let opened = storage.open(&file::name_of(number))?;
            match Header::read(&*opened, number)? {
                Some(header) => {
                    if *database.get_or_insert(header.database) != header.database {
                        return Err(Unreadable::Foreign(file::name_of(number)));
                    }
                    files.push(header);
                }
                None => headless.push(number),
            }
        }
        let (head, has_head) = LogHead::read(storage)?;
        let mut is_beheaded = false;
        if let Some(LogHead { header, .. }) = head {
            if *database.get_or_insert(header.database) != header.database {
                return Err(Unreadable::Foreign(head::NAME.to_owned()));
            }
            is_beheaded = files.iter().all(|file| file.number != header.number);
            if is_beheaded {
                let at = files.partition_point(|file| file.number < header.number);
                files.insert(at, header);
                headless.retain(|&number| number != header.number);
            }
        }
        if files.is_empty() && headless.is_empty() {
            return Ok(None);
        }
        let begins = |header: &Header| header.start <= position;
        let Some(current) = files.iter().rposition(begins) else {
            let unused = files.is_empty() && position == 0 && Self::all_unused(storage, &headless)?;
            return if unused { Ok(None) } else { Err(Unreadable::Missing(position)) };
        };
        // Files opened one after the other without a commit between begin at one position.
        let start = files[current].start;
        let current = files.iter().position(|header| header.start == start).unwrap_or(current);
        let mut reader = Self {
            storage,
            timestamp: files[current].timestamp,
            files,
            headless,
            head,
            is_beheaded,
            must_be_headed: false,
            has_head,
            current,
            bytes: Vec::new(),
            offset: 0,
            sure: position,
            passed: 0,
        };
        reader.load()?;
        Ok(Some(reader))
    }

    /// The id of the log's database.
    pub(crate) fn database(&self) -> DatabaseId {
        self.files[self.current].database
    }

    /// The position from which on it reads.
    pub(crate) fn position(&self) -> u64 {
        self.address(self.offset).position
    }

    /// The number of the file that a frame stands in.
    pub(crate) fn number_of(&self, at: FrameAt) -> u64 {
        self.files[at.file].number
    }

    /// Whether the newest file may have rows as they were before they were changed.
    pub(crate) fn has_old_rows(&self) -> bool {
        self.files.last().is_some_and(|header| header.version == file::VERSION_OF_OLD_ROWS)
    }

    /// The highest number that a file has, or had.
    pub(crate) fn number_max(&self) -> u64 {
        let numbers = self.files.iter().map(|header| header.number);
        numbers.chain(self.headless.iter().copied()).max().unwrap_or(0)
    }

    /// Bytes that there are to read from here on.
    pub(crate) fn bytes_left(&self) -> io::Result<u64> {
        let mut sum = 0;
        for header in &self.files[self.current..] {
            sum += self.file(header)?.map_or(Ok(0), |file| file.len())?;
        }
        Ok(sum)
    }

    /// Bytes that were read so far.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.passed + self.files[self.current].len() + self.offset as u64
    }

    /// Numbers of files that were made and never used, or whose header is damaged.
    pub(crate) fn headless(&self) -> &[u64] {
        &self.headless
    }

    /// The names of files behind the open one, which is among them if it has no header and nothing
    /// was read of it.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn names_behind(&self) -> io::Result<Vec<String>> {
        let first = self.current + usize::from(!self.is_useless(self.current));
        let mut names = Vec::new();
        for header in &self.files[first..] {
            if self.file(header)?.is_some() {
                names.push(file::name_of(header.number));
            }
        }
        Ok(names)
    }

    /// The next frame, or how the log ends.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn next(&mut self) -> io::Result<Next<'_>> {
        let length = loop {
            let address = self.address(self.offset);
            let length = find_frame(self.rest(), address, self.timestamp).map(|found| found.length);
            match length {
                Some(length) => break length,
                None if self.go_on(address.position)? => {}
                None => return Ok(Next::End(self.end(address.position)?)),
            }
        };
        let (start, before) = (self.offset, self.timestamp);
        self.offset += length;
        let address = self.address(start);
        let Some(found) = find_frame(&self.bytes[start..], address, before) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        self.timestamp = timestamp_of(&found.frame).unwrap_or(before);
        self.must_be_headed |= !self.files[self.current].is_of_version_1();
        if found.synced_before {
            self.sure = address.position;
        }
        let (position, synced_before) = (address.position, found.synced_before);
        let byte = self.files[self.current].len() + start as u64;
        let at = FrameAt { file: self.current, offset: start, byte, position, synced_before };
        Ok(Next::Frame { frame: found.frame, at })
    }

    /// The operations of a fragment that was met.
    ///
    /// # Errors
    /// The system's error, `InvalidData` if it is not there any more.
    pub(crate) fn fragment(&self, at: FrameAt) -> io::Result<Vec<u8>> {
        let header = &self.files[at.file];
        let file = self.storage.open(&file::name_of(header.number))?;
        let mut bytes = vec![0; PAYLOAD_MAX + 16];
        let count = read_at_most(&*file, at.byte, &mut bytes)?;
        let address =
            FrameAddress { position: header.start + at.offset as u64, salt: header.salt() };
        match find_frame(&bytes[..count], address, 0).map(|found| found.frame) {
            Some(Frame::Fragment { operations, .. }) => Ok(operations.to_vec()),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// Has all synced that was read, which the system may have had in memory only. What is not
    /// known to be synced is written once more: where a sync has failed before, another one alone
    /// would succeed without having done anything.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn sync(&self) -> io::Result<()> {
        for (number, header) in self.files.iter().enumerate().take(self.current + 1) {
            if self.is_useless(number) {
                continue;
            }
            let next = self.files.get(number + 1).filter(|_| number < self.current);
            let end = next.map_or(header.start + self.offset as u64, |next| next.start);
            if end <= self.sure && number < self.current {
                continue;
            }
            let Some(file) = self.file(header)? else { continue };
            let from = self.sure.max(header.start);
            let mut bytes = vec![0; end.saturating_sub(from) as usize];
            let at = header.len() + from - header.start;
            let count = read_at_most(&*file, at, &mut bytes)?;
            header.write(&*file)?;
            write_all_at(&*file, at, &bytes[..count])?;
            file.sync()?;
        }
        Ok(())
    }

    /// Whether no frame was ever written to these files.
    fn all_unused(storage: &dyn Storage, numbers: &[u64]) -> io::Result<bool> {
        for &number in numbers {
            let file = storage.open(&file::name_of(number))?;
            let frames = read_all(&*file, &Header::guess(&*file, Header::default())?)?;
            if frames.iter().any(|&byte| byte != 0) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A file, if it is there: the one that the head names may not be.
    fn file(&self, header: &Header) -> io::Result<Option<Box<dyn StorageFile>>> {
        match self.storage.open(&file::name_of(header.number)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.is_named(header) => {
                Ok(None)
            }
            opened => opened.map(Some),
        }
    }

    /// Whether it is the file that the head names.
    fn is_named(&self, header: &Header) -> bool {
        self.head.is_some_and(|head| head.header.number == header.number)
    }

    /// Whether a file has no header and nothing was read of it, up to now.
    fn is_useless(&self, number: usize) -> bool {
        let is_unread = number == self.current && self.offset == 0;
        is_unread && self.is_beheaded && self.is_named(&self.files[number])
    }

    fn load(&mut self) -> io::Result<()> {
        let header = &self.files[self.current];
        let file = self.file(header)?;
        self.bytes = file.map_or(Ok(Vec::new()), |file| read_all(&*file, header))?;
        self.offset = 0;
        Ok(())
    }

    fn rest(&self) -> &[u8] {
        &self.bytes[self.offset..]
    }

    fn address(&self, offset: usize) -> FrameAddress {
        let header = &self.files[self.current];
        FrameAddress { position: header.start + offset as u64, salt: header.salt() }
    }

    /// Goes on in the next file, if it begins here.
    fn go_on(&mut self, position: u64) -> io::Result<bool> {
        let next = self.files.get(self.current + 1);
        let fits = |next: &&Header| next.start == position && next.timestamp >= self.timestamp;
        let Some(next) = next.filter(fits) else { return Ok(false) };
        self.timestamp = next.timestamp;
        self.passed += self.files[self.current].len() + self.bytes.len() as u64;
        self.current += 1;
        self.load()?;
        Ok(true)
    }

    /// How the log ends at `position`, where no frame follows.
    fn end(&self, position: u64) -> io::Result<End> {
        let open = self.files[self.current];
        let mut what = None;
        let (synced, mut commits_behind) = look_through(&self.bytes, self.offset + 1, &open);
        if synced {
            what = Some("what the disk had is not readable");
        }
        let headless = self.headless.iter().filter(|&&number| number > open.number);
        let headless = headless.map(|&number| Header { number, start: position, ..open });
        let behind = self.files[self.current + 1..].iter().copied();
        for (header, is_whole) in behind.map(|it| (it, true)).chain(headless.map(|it| (it, false)))
        {
            let Some(file) = self.file(&header)? else { continue };
            let header = if is_whole { header } else { Header::guess(&*file, header)? };
            let (synced, commits) = look_through(&read_all(&*file, &header)?, 0, &header);
            commits_behind += commits;
            if synced {
                what.get_or_insert("what lies before a later file is missing, or its header");
            }
        }
        if what.is_none() {
            what = self.missed_by_head(position)?;
        }
        let damage = what.map(|what| Damage {
            file: file::name_of(open.number),
            offset: if self.is_useless(self.current) { 0 } else { open.len() + self.offset as u64 },
            last_good: self.timestamp,
            commits_behind,
            what: what.to_owned(),
        });
        Ok(End { position, timestamp: self.timestamp, damage })
    }

    /// What the head knows of and a log lacks that ends at `position` in the open file.
    fn missed_by_head(&self, position: u64) -> io::Result<Option<&'static str>> {
        let Some(LogHead { header, file_len, synced }) = self.head else {
            let is_lost = self.has_head && self.must_be_headed;
            return Ok(is_lost.then_some("the log's head, which says how far it goes, is lost"));
        };
        let open = &self.files[self.current];
        if open.number < header.number {
            return Ok(Some("a later file, which there was, does not follow"));
        }
        if open.number == header.number {
            let Some(file) = self.file(open)? else { return Ok(Some("the file is missing")) };
            if self.is_beheaded {
                return Ok(Some("the file has no header that is whole"));
            }
            if open.nonce != header.nonce {
                return Ok(Some("it is not the file that there was"));
            }
            if file.len()? < file_len {
                return Ok(Some("the file is shorter than it was"));
            }
        }
        Ok((position < synced).then_some("what the disk had is not there"))
    }
}

/// Whether a frame of a file, from `offset` on, says that all before it was synced; and how many
/// commits can be made out there.
fn look_through(bytes: &[u8], mut offset: usize, header: &Header) -> (bool, u64) {
    let (mut synced, mut commits) = (false, 0);
    let salt = header.salt();
    while offset < bytes.len() {
        let address = FrameAddress { position: header.start + offset as u64, salt };
        match find_frame(&bytes[offset..], address, 0) {
            Some(found) => {
                synced |= found.synced_before;
                commits += u64::from(timestamp_of(&found.frame).is_some());
                offset += found.length;
            }
            None => offset += 1,
        }
    }
    (synced, commits)
}

/// The timestamp of a commit or a definition.
fn timestamp_of(frame: &Frame<'_>) -> Option<u64> {
    match *frame {
        Frame::Commit { timestamp, .. }
        | Frame::CommitOf { timestamp, .. }
        | Frame::Define { timestamp, .. } => Some(timestamp),
        Frame::Fragment { .. } | Frame::Mark { .. } | Frame::Close | Frame::Entry { .. } => None,
    }
}

/// The frames of a file, without its header.
fn read_all(file: &dyn StorageFile, header: &Header) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; file.len()?.saturating_sub(header.len()) as usize];
    let count = read_at_most(file, header.len(), &mut bytes)?;
    bytes.truncate(count);
    Ok(bytes)
}
