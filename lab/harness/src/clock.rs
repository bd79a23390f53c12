//! The two clocks of a measured process, and the core it runs on.
//!
//! Wall time and the CPU time of the whole process, all threads together, so that work which
//! an engine moves to the background still counts; of a single thread where a workload is about
//! threads. On a machine that others use, ratios of CPU
//! time are what can be trusted.

use rustix::thread::CpuSet;
use rustix::time::{ClockId, clock_gettime};

use crate::setting::Outcome;

/// A tick of `/proc`, which does not depend on the machine.
const TICK_NS: u64 = 10_000_000;

/// A moment on both clocks.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    wall_ns: u64,
    cpu_ns: u64,
}

/// What passed between two moments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Elapsed {
    /// Time on the wall.
    pub wall_ns: u64,
    /// CPU time of all threads of this process.
    pub cpu_ns: u64,
}

impl Clock {
    /// Reads both clocks.
    #[must_use]
    pub fn start() -> Self {
        Self { wall_ns: wall_ns(), cpu_ns: read(ClockId::ProcessCPUTime) }
    }

    /// What passed since `start`.
    #[must_use]
    pub fn elapsed(&self) -> Elapsed {
        Elapsed {
            cpu_ns: read(ClockId::ProcessCPUTime) - self.cpu_ns,
            wall_ns: wall_ns() - self.wall_ns,
        }
    }
}

/// The wall clock alone, for limits inside a measured loop.
#[inline]
#[must_use]
pub fn wall_ns() -> u64 {
    read(ClockId::Monotonic)
}

/// The CPU time of the calling thread alone.
#[inline]
#[must_use]
pub fn thread_cpu_ns() -> u64 {
    read(ClockId::ThreadCPUTime)
}

/// The CPU time of this process so far, all threads together.
#[must_use]
pub fn process_cpu_ns() -> u64 {
    read(ClockId::ProcessCPUTime)
}

/// CPU time of another process so far, in nanoseconds; `None` if it is gone.
#[must_use]
pub fn cpu_ns_of(process: u32) -> Option<u64> {
    Some(ticks_of(process)?[..2].iter().sum::<u64>() * TICK_NS)
}

/// CPU time of a process and of all that it has started, in nanoseconds, with those that ended and
/// were waited for.
#[must_use]
pub fn cpu_ns_of_all(process: u32) -> u64 {
    let children = format!("/proc/{process}/task/{process}/children");
    let children = std::fs::read_to_string(children).unwrap_or_default();
    let children = children.split_whitespace().filter_map(|child| child.parse().ok());
    let own = ticks_of(process).map_or(0, |ticks| ticks.iter().sum::<u64>() * TICK_NS);
    own + children.map(cpu_ns_of_all).sum::<u64>()
}

/// What a process has used: as itself, in the kernel; and the same of those that it has waited for.
fn ticks_of(process: u32) -> Option<[u64; 4]> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program, in brackets, may hold anything.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut ticks = [0; 4];
    for count in &mut ticks {
        *count = fields.next()?.parse().ok()?;
    }
    Some(ticks)
}

/// Keeps this process on one core from now on.
///
/// # Errors
///
/// When the operating system does not allow that core.
pub fn pin_to(core: usize) -> Outcome<()> {
    let mut cores = CpuSet::new();
    cores.set(core);
    rustix::thread::sched_setaffinity(None, &cores)?;
    Ok(())
}

/// The highest core this process may run on.
///
/// # Errors
///
/// When the operating system does not say.
pub fn last_core() -> Outcome<usize> {
    cores()?.last().copied().ok_or_else(|| "no core is allowed".into())
}

/// All cores this process may run on, in ascending order.
///
/// # Errors
///
/// When the operating system does not say.
pub fn cores() -> Outcome<Vec<usize>> {
    let cores = rustix::thread::sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&core| cores.is_set(core)).collect())
}

fn read(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
