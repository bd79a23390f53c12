//! Loops that are compiled several times, for the widest instructions that a processor may have.
//!
//! The compiler makes vector instructions of plain loops; which ones is decided when a loop is
//! compiled. What is declared by [`vectorized`] is compiled for each of [`Instructions`], and the
//! processor is asked which it has when the first loop runs.

use std::sync::atomic::{AtomicU8, Ordering};

/// Vector instructions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Instructions {
    /// Those that every processor of the kind has.
    Plain = 1,
    /// Of 32 bytes: AVX2, and those that count and move bits.
    Avx2 = 2,
    /// Of 64 bytes: AVX-512 F, BW, DQ and VL, and those that count and move bits.
    Avx512 = 3,
}

/// What is used; 0 before the processor was asked.
static USED: AtomicU8 = AtomicU8::new(0);

impl Instructions {
    /// The widest that this processor has.
    pub fn widest() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let has_bits = is_x86_feature_detected!("popcnt")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2");
            let has_512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl");
            match is_x86_feature_detected!("avx2") && has_bits {
                true if has_512 => return Self::Avx512,
                true => return Self::Avx2,
                false => {}
            }
        }
        Self::Plain
    }

    /// From now on uses no wider ones than these, and none that the processor does not have. All
    /// give the same results: that is for whoever tests or measures it.
    ///
    /// # Examples
    /// ```
    /// use remanent_exec::Instructions;
    /// Instructions::Plain.limit();
    /// assert_eq!(Instructions::used(), Instructions::Plain);
    /// Instructions::widest().limit();
    /// assert_eq!(Instructions::used(), Instructions::widest());
    /// ```
    pub fn limit(self) {
        USED.store(self.min(Self::widest()) as u8, Ordering::Relaxed);
    }

    /// Runs a test with each of them that the processor has, while no other test does so.
    #[cfg(test)]
    pub(crate) fn with_each(mut test: impl FnMut(Self)) {
        static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());
        let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        for instructions in [Self::Plain, Self::Avx2, Self::Avx512] {
            instructions.limit();
            test(Self::used());
        }
    }

    /// Those that are used; the processor has them.
    #[inline]
    pub fn used() -> Self {
        match USED.load(Ordering::Relaxed) {
            0 => {
                Self::widest().limit();
                Self::widest()
            }
            1 => Self::Plain,
            2 => Self::Avx2,
            _ => Self::Avx512,
        }
    }
}

/// Declares a function that is compiled for all instructions, and runs as the widest that are used.
/// Everything that it calls has to be inlined.
macro_rules! vectorized {
    (
        $(#[$doc:meta])*
        $visible:vis fn $name:ident $(<const $constant:ident: $constant_type:ty>)? (
            $($arg:ident: $arg_type:ty),* $(,)?
        ) $body:block
    ) => {
        $(#[$doc])*
        $visible fn $name $(<const $constant: $constant_type>)? ($($arg: $arg_type),*) {
            #[inline(always)]
            fn plain $(<const $constant: $constant_type>)? ($($arg: $arg_type),*) $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,popcnt,bmi1,bmi2")]
            fn avx2 $(<const $constant: $constant_type>)? ($($arg: $arg_type),*) {
                plain $(::<$constant>)? ($($arg),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,popcnt,bmi1,bmi2")]
            fn avx512 $(<const $constant: $constant_type>)? ($($arg: $arg_type),*) {
                plain $(::<$constant>)? ($($arg),*)
            }

            #[cfg(target_arch = "x86_64")]
            match $crate::simd::Instructions::used() {
                $crate::simd::Instructions::Avx512 => {
                    // SAFETY: the processor has the instructions that are used.
                    return unsafe { avx512 $(::<$constant>)? ($($arg),*) };
                }
                $crate::simd::Instructions::Avx2 => {
                    // SAFETY: the processor has the instructions that are used.
                    return unsafe { avx2 $(::<$constant>)? ($($arg),*) };
                }
                $crate::simd::Instructions::Plain => {}
            }
            plain $(::<$constant>)? ($($arg),*)
        }
    };
}
pub(crate) use vectorized;
