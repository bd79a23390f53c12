//! A network in memory: messages take their time, are lost, come twice and late, or not at all
//! while machines are cut off from each other.
//!
//! A connection is between two processes: it ends with either of them. What was sent is on its way
//! whatever its sender does then. A request that arrives is answered whether or not somebody still
//! waits; where it comes a second time, so is that. A process that stands still is reached, and
//! answers when it goes on.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use remanent_replication::{Connection, Process, Service, Transport};
use tokio::sync::{oneshot, watch};

/// How long a message may be under way where the network is bad.
const LATE: Duration = Duration::from_millis(900);
/// How long nothing is heard of a message that was lost.
const LOST: Duration = Duration::from_secs(30);

/// A network, with its machines by their addresses.
#[derive(Clone, Debug)]
pub(crate) struct Network(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    random: StdRng,
    processes: BTreeMap<String, Served>,
    next: u64,
    /// Directions in which nothing arrives.
    cuts: Vec<(String, String)>,
    /// Of a hundred messages, so many are late, come twice, or are lost.
    bad: u32,
}

/// What a process answers with.
#[derive(Clone, Debug)]
struct Served {
    number: u64,
    service: Arc<dyn Service>,
    process: Process,
    /// Whether it has ended, which whoever waits for an answer hears of.
    ended: watch::Sender<bool>,
}

/// The way of one process to others.
#[derive(Clone, Debug)]
pub(crate) struct Socket {
    network: Network,
    address: String,
    process: Process,
    /// Whether its process was killed.
    is_dead: Arc<std::sync::atomic::AtomicBool>,
}

#[derive(Clone, Debug)]
struct Line {
    socket: Socket,
    to: String,
    /// The number of the process at the other end.
    number: u64,
}

/// A process that answers as long as this is there.
struct Registered(Network, String, u64);

impl Network {
    pub(crate) fn new(seed: u64) -> Self {
        let random = StdRng::seed_from_u64(seed);
        let (processes, cuts) = (BTreeMap::new(), Vec::new());
        Self(Arc::new(Mutex::new(State { random, processes, next: 0, cuts, bad: 0 })))
    }

    /// For a new process.
    pub(crate) fn socket(&self, address: &str, process: Process) -> Socket {
        let (network, address) = (self.clone(), address.to_owned());
        Socket { network, address, process, is_dead: Arc::default() }
    }

    /// Lets nothing arrive in these directions, and everything in all others.
    pub(crate) fn cut(&self, cuts: Vec<(String, String)>) {
        self.state().cuts = cuts;
    }

    /// Of a hundred messages, so many have bad luck.
    pub(crate) fn set_bad(&self, bad: u32) {
        self.state().bad = bad;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long a message is under way; nothing if it does not arrive.
    fn way(&self, from: &str, to: &str) -> Option<Duration> {
        let mut state = self.state();
        if state.cuts.iter().any(|(a, b)| a == from && b == to) {
            return None;
        }
        let bad = state.bad;
        let micros = state.random.gen_range(50..1500);
        if state.random.gen_range(0..100) >= bad {
            return Some(Duration::from_micros(micros));
        }
        let late = state.random.gen_range(0..LATE.as_micros() as u64);
        (!state.random.gen_bool(0.3)).then(|| Duration::from_micros(late))
    }

    fn comes_twice(&self) -> Option<Duration> {
        let mut state = self.state();
        let bad = state.bad;
        let twice = state.random.gen_range(0..100) < bad;
        twice.then(|| Duration::from_micros(state.random.gen_range(0..LATE.as_micros() as u64)))
    }
}

impl Socket {
    /// Its process is killed: nothing of it arrives any more, and nothing arrives there.
    pub(crate) fn kill(&self) {
        self.is_dead.store(true, std::sync::atomic::Ordering::Release);
        let process = self.network.state().processes.remove(&self.address);
        if let Some(process) = process {
            process.ended.send_replace(true);
        }
    }

    fn check(&self) -> io::Result<()> {
        match self.is_dead.load(std::sync::atomic::Ordering::Acquire) {
            true => Err(io::ErrorKind::ConnectionReset.into()),
            false => Ok(()),
        }
    }

    async fn travel(&self, from: &str, to: &str) -> io::Result<()> {
        match self.network.way(from, to) {
            Some(time) => tokio::time::sleep(time).await,
            None => {
                tokio::time::sleep(LOST).await;
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        self.check()
    }
}

#[async_trait]
impl Transport for Socket {
    async fn connect(&self, address: &str) -> io::Result<Box<dyn Connection>> {
        self.check()?;
        self.travel(&self.address, address).await?;
        self.travel(address, &self.address).await?;
        let number = self.network.state().processes.get(address).map(|served| served.number);
        let number = number.ok_or(io::ErrorKind::ConnectionRefused)?;
        Ok(Box::new(Line { socket: self.clone(), to: address.to_owned(), number }))
    }

    async fn serve(&self, address: &str, service: Arc<dyn Service>) -> io::Result<()> {
        self.check()?;
        let _registered = {
            let mut state = self.network.state();
            state.next += 1;
            let number = state.next;
            let (process, ended) = (self.process.clone(), watch::Sender::new(false));
            let served = Served { number, service, process, ended };
            state.processes.insert(address.to_owned(), served);
            Registered(self.network.clone(), address.to_owned(), number)
        };
        std::future::pending().await
    }
}

#[async_trait]
impl Connection for Line {
    async fn call(&mut self, request: Bytes) -> io::Result<Bytes> {
        let (sender, answered) = oneshot::channel();
        let line = self.clone();
        // The way there and back is of no process.
        tokio::spawn(async move { sender.send(line.travel(request).await) });
        answered.await.unwrap_or_else(|_| Err(io::ErrorKind::ConnectionReset.into()))
    }
}

impl Line {
    /// What is at the other end, if that is the process that it was.
    fn served(&self) -> Option<Served> {
        let state = self.socket.network.state();
        state.processes.get(&self.to).filter(|it| it.number == self.number).cloned()
    }

    /// The way of a request there, and of its answer back.
    async fn travel(self, request: Bytes) -> io::Result<Bytes> {
        let Self { socket, to, .. } = &self;
        socket.travel(&socket.address, to).await?;
        let reset = || io::Error::from(io::ErrorKind::ConnectionReset);
        let Served { service, ended, process, .. } = self.served().ok_or_else(reset)?;
        let mut ended = ended.subscribe();
        if let Some(later) = socket.network.comes_twice() {
            let (line, request) = (self.clone(), request.clone());
            tokio::spawn(async move {
                tokio::time::sleep(later).await;
                if let Some(Served { service, process, .. }) = line.served() {
                    process.run(service.answer(request)).await;
                }
            });
        }
        let answer = tokio::select! {
            biased;
            _ = ended.wait_for(|&ended| ended) => return Err(reset()),
            answer = process.run(service.answer(request)) => answer,
        };
        socket.travel(to, &socket.address).await?;
        Ok(answer)
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut state = self.0.state();
        let is_there = state.processes.get(&self.1).is_some_and(|it| it.number == self.2);
        if is_there && let Some(process) = state.processes.remove(&self.1) {
            process.ended.send_replace(true);
        }
    }
}
