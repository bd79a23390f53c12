//! What a disk may hold after a crash.
//!
//! What was synced is there. Of what was not, each write may be there, or not, or in part: disks
//! write sectors, each whole, in any order. The same with names. A process that dies takes nothing
//! with it that it had handed over.

use std::collections::BTreeMap;

use super::disk::{Call, Content, Disk, write};
use crate::random::Random;

/// Bytes that a disk writes whole or not at all.
const SECTOR: u64 = 512;

/// The fate of writes that were not synced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Manner {
    /// All of it is there: the process died, the machine did not.
    Kept,
    /// None of it is there.
    Lost,
    /// The first calls are there, those after them are not.
    Cut,
    /// Each call is there or not.
    Chosen,
    /// Each sector is there or not.
    Torn,
}

impl Manner {
    pub(super) const ALL: [Self; 5] = [Self::Kept, Self::Lost, Self::Cut, Self::Chosen, Self::Torn];
}

/// A disk with what is sure on it and what is not yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Survival {
    files: Vec<File>,
    names: BTreeMap<String, usize>,
    pending_names: Vec<Call>,
}

#[derive(Clone, Debug, Default)]
struct File {
    /// What the system shows as long as it runs.
    shown: Vec<u8>,
    /// The content of the disk.
    sure: Vec<u8>,
    /// Its options.
    pending: Vec<Call>,
}

impl Survival {
    /// A disk on which all of this is sure.
    pub(super) fn with(content: &Content) -> Self {
        let mut survival = Self::default();
        for (name, bytes) in content {
            survival.names.insert(name.clone(), survival.files.len());
            survival.files.push(File {
                shown: bytes.clone(),
                sure: bytes.clone(),
                pending: Vec::new(),
            });
        }
        survival
    }

    /// Makes a call.
    pub(super) fn call(&mut self, call: &Call) {
        match call {
            Call::Create { file, .. } => {
                debug_assert_eq!(*file, self.files.len());
                self.files.push(File::default());
                self.pending_names.push(call.clone());
            }
            Call::Write { file, .. } | Call::SetLen { file, .. } => {
                let file = &mut self.files[*file];
                apply(&mut file.shown, call);
                file.pending.push(call.clone());
            }
            Call::Sync { file } => {
                let file = &mut self.files[*file];
                for call in std::mem::take(&mut file.pending) {
                    apply(&mut file.sure, &call);
                }
            }
            Call::LostSync { file } => self.files[*file].pending.clear(),
            Call::Rename { .. } | Call::Remove { .. } => self.pending_names.push(call.clone()),
            Call::SyncNames => {
                for call in std::mem::take(&mut self.pending_names) {
                    apply_name(&mut self.names, &call);
                }
            }
            Call::Note(_) => {}
        }
    }

    /// The disk as it is for whoever comes after a process that died: all calls were made, and none
    /// of them is sure that was not.
    pub(super) fn disk(&self) -> Disk {
        let mut names = self.names.clone();
        self.pending_names.iter().for_each(|call| apply_name(&mut names, call));
        Disk::numbered(names, self.files.iter().map(|file| file.shown.clone()).collect())
    }

    /// The content of the disk if the machine stops now.
    pub(super) fn after(&self, manner: Manner, random: &mut Random) -> Content {
        let mut names = self.names.clone();
        let cut = random.below(self.pending_names.len() as u64 + 1) as usize;
        for (number, call) in self.pending_names.iter().enumerate() {
            let stays = match manner {
                Manner::Kept => true,
                Manner::Lost => false,
                Manner::Cut => number < cut,
                Manner::Chosen | Manner::Torn => random.percent(50),
            };
            if stays {
                apply_name(&mut names, call);
            }
        }
        names.into_iter().map(|(name, file)| (name, self.bytes(file, manner, random))).collect()
    }

    fn bytes(&self, file: usize, manner: Manner, random: &mut Random) -> Vec<u8> {
        let File { shown, sure, pending } = &self.files[file];
        if manner == Manner::Kept {
            return shown.clone();
        }
        let mut bytes = sure.clone();
        let cut = random.below(pending.len() as u64 + 1) as usize;
        for (number, call) in pending.iter().enumerate() {
            match manner {
                Manner::Kept | Manner::Lost => {}
                Manner::Cut if number < cut => apply(&mut bytes, call),
                Manner::Cut => {}
                Manner::Chosen if random.percent(50) => apply(&mut bytes, call),
                Manner::Chosen => {}
                Manner::Torn => apply_in_part(&mut bytes, call, random),
            }
        }
        bytes
    }
}

fn apply(bytes: &mut Vec<u8>, call: &Call) {
    match call {
        Call::Write { at, bytes: new, .. } => write(bytes, *at, new),
        Call::SetLen { len, .. } => bytes.resize(*len as usize, 0),
        _ => {}
    }
}

fn apply_in_part(bytes: &mut Vec<u8>, call: &Call, random: &mut Random) {
    let Call::Write { at, bytes: new, .. } = call else {
        if random.percent(50) {
            apply(bytes, call);
        }
        return;
    };
    let end = at + new.len() as u64;
    let mut from = *at;
    while from < end {
        let to = (from / SECTOR * SECTOR + SECTOR).min(end);
        if random.percent(60) {
            write(bytes, from, &new[(from - at) as usize..(to - at) as usize]);
        }
        from = to;
    }
}

fn apply_name(names: &mut BTreeMap<String, usize>, call: &Call) {
    match call {
        Call::Create { name, file } => {
            names.insert(name.clone(), *file);
        }
        Call::Rename { from, to } => {
            if let Some(file) = names.remove(from) {
                names.insert(to.clone(), file);
            }
        }
        Call::Remove { name } => {
            names.remove(name);
        }
        _ => {}
    }
}
