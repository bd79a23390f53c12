//! A group: three processes of this program, which do what they are asked line by line.
//!
//! They end with the group. Everything about them is on loopback, in one folder.

use std::fs::Permissions;
use std::io::{BufRead, BufReader, Lines, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use lab_berkeley_db::BERKELEY_DB;
use lab_harness::Outcome;

/// The first word on the command line of a process that is a member.
pub(crate) const MEMBER: &str = "member";

/// How long a group may take for anything: Berkeley DB's replicas need minutes for a load on disks.
const PATIENCE: Duration = Duration::from_secs(900);

/// Whose replicas they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum System {
    Remanent,
    BerkeleyDb,
    PostgreSql,
}

impl System {
    pub(crate) const ALL: [Self; 3] = [Self::Remanent, Self::BerkeleyDb, Self::PostgreSql];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Remanent => "remanent",
            Self::BerkeleyDb => "berkeley-db",
            Self::PostgreSql => "postgresql",
        }
    }

    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|system| system.name() == name)
    }

    /// Whether its replicas commit so, and it is installed.
    pub(crate) fn takes_part(self, level: &str) -> bool {
        let is_of_all = level.ends_with("majority");
        match self {
            Self::Remanent => true,
            Self::BerkeleyDb => is_of_all && BERKELEY_DB.missing.is_none(),
            Self::PostgreSql => is_of_all && lab_postgresql::is_installed(),
        }
    }
}

pub(crate) struct Group<'f> {
    system: System,
    folder: &'f Path,
    ports: Vec<u16>,
    on_disk: bool,
    pub(crate) members: Vec<Process>,
}

/// A member's process.
pub(crate) struct Process {
    child: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl<'f> Group<'f> {
    /// Starts three, and waits until one of them takes changes and the table is everywhere.
    ///
    /// # Errors
    ///
    /// When they do not come to that.
    pub(crate) fn start(system: System, folder: &'f Path, on_disk: bool) -> Outcome<Self> {
        let listeners = (0..3).map(|_| TcpListener::bind("127.0.0.1:0"));
        let listeners = listeners.collect::<Result<Vec<_>, _>>()?;
        let ports = listeners.iter().map(|it| Ok(it.local_addr()?.port()));
        let ports = ports.collect::<Outcome<Vec<_>>>()?;
        drop(listeners);
        // A server of another user has a folder of its own in it.
        std::fs::set_permissions(folder, Permissions::from_mode(0o755))?;
        let mut group = Self { system, folder, ports, on_disk, members: Vec::new() };
        let started: Vec<_> = (0..3).map(|place| group.spawn(place)).collect::<Outcome<_>>()?;
        group.members = started;
        group.members.iter_mut().try_for_each(Process::wait_until_ready)?;
        let leader = group.leader()?;
        group.members[leader].ask("define")?;
        group.agree(0)?;
        Ok(group)
    }

    fn spawn(&self, place: usize) -> Outcome<Process> {
        let folder = self.folder.join(format!("{place}"));
        std::fs::create_dir_all(&folder)?;
        let ports: Vec<_> = self.ports.iter().map(u16::to_string).collect();
        let mut command = Command::new(std::env::current_exe()?);
        command.args([MEMBER, self.system.name()]).arg(&folder);
        command.args([place.to_string(), ports.join(",")]);
        command.arg(if self.on_disk { "disk" } else { "memory" });
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take().ok_or("no standard input")?;
        let output = child.stdout.take().ok_or("no standard output")?;
        Ok(Process { child, input, lines: BufReader::new(output).lines() })
    }

    /// The place of the one that takes changes.
    ///
    /// # Errors
    ///
    /// When there is none for long.
    pub(crate) fn leader(&mut self) -> Outcome<usize> {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            for (place, member) in self.members.iter_mut().enumerate() {
                if member.ask("leads")? == [1] {
                    return Ok(place);
                }
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err("nobody leads".into())
    }

    /// Waits until all have so many rows.
    ///
    /// # Errors
    ///
    /// When one has more, or not as many after a long time.
    pub(crate) fn agree(&mut self, rows: u64) -> Outcome<()> {
        let until = Instant::now() + PATIENCE;
        for member in &mut self.members {
            loop {
                let asked = Instant::now();
                match member.ask("count").as_deref() {
                    Ok(&[count]) if count == rows => break,
                    Ok(&[count]) if count > rows => {
                        return Err(format!("{count} rows, not {rows}").into());
                    }
                    answer if Instant::now() > until => {
                        return Err(format!("{answer:?}, not {rows} rows").into());
                    }
                    // It gets on meanwhile: some of them let nobody write while they count.
                    _ => std::thread::sleep(asked.elapsed() * 4 + Duration::from_millis(20)),
                }
            }
        }
        Ok(())
    }

    /// CPU time of all members by now, in nanoseconds.
    ///
    /// # Errors
    ///
    /// When one is gone.
    pub(crate) fn cpu_ns(&mut self) -> Outcome<Vec<u64>> {
        self.members.iter_mut().map(|member| Ok(member.ask("cpu")?[0])).collect()
    }

    /// Ends a member at once, and starts it again after `meanwhile`; how long it took from its
    /// start until it had so many rows.
    ///
    /// # Errors
    ///
    /// When it does not come back.
    pub(crate) fn restart(
        &mut self,
        place: usize,
        meanwhile: impl FnOnce(&mut Self) -> Outcome<u64>,
    ) -> Outcome<Duration> {
        self.members[place].child.kill()?;
        self.members[place].child.wait()?;
        let rows = meanwhile(self)?;
        let begun = Instant::now();
        self.members[place] = self.spawn(place)?;
        self.members[place].wait_until_ready()?;
        self.agree(rows)?;
        Ok(begun.elapsed())
    }
}

impl Process {
    fn wait_until_ready(&mut self) -> Outcome<()> {
        match self.lines.next() {
            Some(line) if line.as_deref().is_ok_and(|line| line == "ready") => Ok(()),
            other => Err(format!("a member does not start: {other:?}").into()),
        }
    }

    /// Asks, and waits for the numbers of the answer.
    ///
    /// # Errors
    ///
    /// What the member says, or that it is gone.
    pub(crate) fn ask(&mut self, line: &str) -> Outcome<Vec<u64>> {
        self.begin(line)?;
        self.answer()
    }

    /// Asks without waiting.
    ///
    /// # Errors
    ///
    /// When it is gone.
    pub(crate) fn begin(&mut self, line: &str) -> Outcome<()> {
        writeln!(self.input, "{line}")?;
        Ok(self.input.flush()?)
    }

    /// The numbers of the answer to what was begun.
    ///
    /// # Errors
    ///
    /// What the member says, or that it is gone.
    pub(crate) fn answer(&mut self) -> Outcome<Vec<u64>> {
        let line = self.lines.next().ok_or("a member is gone")??;
        if let Some(error) = line.strip_prefix("error ") {
            return Err(error.to_owned().into());
        }
        Ok(line.split(' ').map(str::parse).collect::<Result<_, _>>()?)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
