//! Memory is asked for before it is taken.
//!
//! Whoever grows an array says how many bytes there will be in all, and takes none if these are
//! refused; so a full budget ends one statement, and not the program.

/// Memory was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refused;

/// What was taken, and who is asked for more.
pub(crate) struct Account<'a> {
    /// Bytes that were taken, and not given back.
    pub(crate) taken: &'a mut usize,
    /// Whether there may be so many bytes in all.
    pub(crate) memory: &'a mut dyn FnMut(usize) -> bool,
}

impl Account<'_> {
    /// Takes so many bytes.
    ///
    /// # Errors
    /// They are refused.
    pub(crate) fn take(&mut self, bytes: usize) -> Result<(), Refused> {
        let wanted = self.taken.saturating_add(bytes);
        if !(self.memory)(wanted) {
            return Err(Refused);
        }
        *self.taken = wanted;
        Ok(())
    }

    /// Gives so many bytes back.
    pub(crate) fn give_back(&mut self, bytes: usize) {
        *self.taken = self.taken.saturating_sub(bytes);
    }

    /// Says how much is taken now to whoever is asked: some was given back.
    ///
    /// # Errors
    /// Even that is refused.
    pub(crate) fn report(&mut self) -> Result<(), Refused> {
        self.take(0)
    }

    /// Makes something that takes memory; if that is refused, all that it took is given back, as
    /// what was made of it has to be.
    ///
    /// # Errors
    /// Memory is refused.
    pub(crate) fn attempt<T>(
        &mut self,
        make: impl FnOnce(&mut Self) -> Result<T, Refused>,
    ) -> Result<T, Refused> {
        let before = *self.taken;
        make(self).inspect_err(|_| *self.taken = before)
    }

    /// Makes room for so many entries more behind those of a vector.
    ///
    /// # Errors
    /// Memory is refused.
    pub(crate) fn reserve<T>(&mut self, vector: &mut Vec<T>, more: usize) -> Result<(), Refused> {
        if vector.capacity() - vector.len() >= more {
            return Ok(());
        }
        let before = vector.capacity();
        let wanted = (before * 2).max(vector.len() + more);
        // Both are there while entries are moved into the new one.
        self.take(wanted * size_of::<T>())?;
        vector.reserve_exact(wanted - vector.len());
        self.give_back(before * size_of::<T>());
        Ok(())
    }
}
