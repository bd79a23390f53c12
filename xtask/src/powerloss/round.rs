//! One round: a writer at work, the power goes, and what is there.
//!
//! What was acknowledged is what the writer has said into a pipe, which is no part of the file
//! system. Most often the writer is stopped before the file system is shut down; now and then it
//! runs on, and has to notice that nothing can be written any more.

use std::error::Error;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use super::file_system::Mounted;
use super::request::Random;

/// The writer opens the database and begins within this time, and ends when its disk is gone.
const PATIENCE: Duration = Duration::from_secs(60);

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What the writer asks of its commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Disk,
    Os,
    Buffered,
}

/// When and how the power goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Round {
    seed: u64,
    pub(super) level: Level,
    /// How long after the writer has begun, or after it was started.
    after: Duration,
    /// Whether it may still be opening the database.
    is_early: bool,
    /// Whether the writer is stopped first.
    stops: bool,
}

/// What a round has shown, as numbers of transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    /// The last one that was there before.
    pub(super) before: u64,
    pub(super) acknowledged: u64,
    pub(super) found: u64,
}

impl Level {
    fn name(self) -> &'static str {
        match self {
            Self::Disk => "disk",
            Self::Os => "os",
            Self::Buffered => "buffered",
        }
    }

    /// Where the database lies, so that what the control loses is not missed by others.
    fn folder(self) -> &'static str {
        if self == Self::Disk { "disk" } else { "control" }
    }
}

impl Round {
    /// Draws a round from its seed.
    pub(super) fn draw(seed: u64, is_control: bool) -> Self {
        let mut random = Random(seed);
        let level = match (is_control, random.below(2)) {
            (false, _) => Level::Disk,
            (true, 0) => Level::Os,
            (true, _) => Level::Buffered,
        };
        let is_early = !is_control && random.below(8) == 0;
        let micros = if is_early { 40_000 } else { 250_000 };
        let after = Duration::from_micros(random.below(micros));
        let stops = is_control || random.below(4) > 0;
        Self { seed, level, after, is_early, stops }
    }

    /// The round in words.
    pub(super) fn shown(&self) -> String {
        let Self { seed, level, after, is_early, stops } = self;
        let since = if *is_early { "its start" } else { "it began" };
        let how = if *stops { "stopped" } else { "running" };
        let micros = after.as_micros();
        format!("seed {seed}, level {}, {micros} us after {since}, writer {how}", level.name())
    }

    /// Does it.
    pub(super) fn run(&self, mounted: &mut Mounted, program: &Path) -> Result<Verdict> {
        let folder = mounted.path().join(self.level.folder());
        let before = judge(program, &folder, self.seed | 1)?;
        let mut writer = Writer::start(program, &folder, self)?;
        if !self.is_early {
            writer.wait_for_begin()?;
        }
        std::thread::sleep(self.after);
        if self.stops {
            signal(&writer.child, "STOP")?;
        }
        mounted.shut_down()?;
        if !self.stops {
            writer.wait_for_end()?;
        }
        let acknowledged = writer.end()?.unwrap_or(before);
        mounted.mount_again()?;
        let found = judge(program, &folder, self.seed)?;
        Ok(Verdict { before, acknowledged: acknowledged.max(before), found })
    }
}

/// The writer, and what it says.
struct Writer {
    child: Child,
    said: Receiver<u64>,
    last: Option<u64>,
}

impl Writer {
    fn start(program: &Path, folder: &Path, round: &Round) -> Result<Self> {
        let mut command = Command::new(program);
        command.arg("powerloss-writer").arg(folder);
        command.arg(round.seed.to_string()).arg(round.level.name());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let out = child.stdout.take().ok_or("the writer says nothing")?;
        let (sender, said) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(std::result::Result::ok) {
                let number = line.strip_prefix("begun ").unwrap_or(&line).parse();
                if number.is_ok_and(|number| sender.send(number).is_err()) {
                    break;
                }
            }
        });
        Ok(Self { child, said, last: None })
    }

    fn wait_for_begin(&mut self) -> Result<()> {
        match self.said.recv_timeout(PATIENCE) {
            Ok(number) => {
                self.last = Some(number);
                Ok(())
            }
            Err(_) => Err(format!("the writer did not begin: {}", self.complaint()).into()),
        }
    }

    /// A writer whose file system is gone has to end by itself.
    fn wait_for_end(&mut self) -> Result<()> {
        let start = Instant::now();
        while self.child.try_wait()?.is_none() {
            if start.elapsed() > PATIENCE {
                return Err("the writer goes on although its disk is gone".into());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Kills it, and returns the last number that it has said.
    fn end(mut self) -> Result<Option<u64>> {
        self.kill();
        loop {
            match self.said.recv_timeout(PATIENCE) {
                Ok(number) => self.last = Some(number),
                Err(RecvTimeoutError::Disconnected) => return Ok(self.last),
                Err(RecvTimeoutError::Timeout) => return Err("the writer's pipe stays open".into()),
            }
        }
    }

    fn complaint(&mut self) -> String {
        self.kill();
        let mut text = String::new();
        if let Some(error) = &mut self.child.stderr {
            let _ = error.read_to_string(&mut text);
        }
        text
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.kill();
    }
}

fn signal(child: &Child, name: &str) -> Result<()> {
    let status =
        Command::new("kill").arg(format!("-{name}")).arg(child.id().to_string()).status()?;
    if status.success() { Ok(()) } else { Err("the writer ended before it was stopped".into()) }
}

/// With which transaction the database ends.
fn judge(program: &Path, folder: &Path, seed: u64) -> Result<u64> {
    let mut command = Command::new(program);
    command.arg("powerloss-judge").arg(folder).arg(seed.to_string());
    let output = command.stdin(Stdio::null()).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned().into());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().map_err(|_| format!("the judge says `{}`", text.trim()).into())
}
