//! Reconnects to an agent that an earlier orchestrator started.

use super::{
    Outgoing, ShimError, ShimErrorKind, ShimEvents, ShimHandle,
    error::Context,
    events::{Source, read_line},
    leftover::{ended, hunted, until_gone},
};
use crate::shim::{ExitRecord, Hello, Order, Report, encode, read_spec, spool_path};
use std::{
    collections::VecDeque,
    io,
    path::Path,
    time::{Duration, Instant},
};
use tokio::{
    io::BufReader,
    net::{UnixStream, unix::OwnedReadHalf},
    sync::Mutex,
    time::{sleep, timeout},
};

/// Between two attempts to reach a shim that is starting or ending.
const TRY_AGAIN: Duration = Duration::from_millis(5);

/// An agent that was started earlier.
#[derive(Debug)]
pub struct Attached {
    pub shim: ShimHandle,
    /// All events from the beginning of the spool.
    pub events: ShimEvents,
    pub presence: Presence,
}

/// The state of an agent after a time without an orchestrator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    Alive {
        /// How long no client was connected.
        away: Duration,
        /// The length of the spool when we connected. Earlier records were passed before that.
        spooled: u64,
    },
    /// The agent ended by itself.
    Ended,
    /// The agent was asked to end, its lease expired, or the machine went down.
    Lost,
}

/// Reconnects to the agent of an attempt's folder. If the agent has ended, the events still return
/// its output and its exit, and none of its processes is left when this returns.
///
/// `patience` is how long a shim may take to respond. A shim that does not respond is ended with
/// its agent, which counts as lost. Fails if the system does not end these processes, or if the
/// agent has another client, because then it may not be ended here.
pub async fn attach_shim(dir: &Path, patience: Duration) -> Result<Attached, ShimError> {
    let until = Instant::now() + patience;
    let mut has_client = false;
    loop {
        if let Some(record) = ended(dir).await {
            return Ok(gone(dir, record).await);
        }
        let left = until.saturating_duration_since(Instant::now());
        let met = match timeout(left, come_back(dir)).await {
            Ok(met) => met,
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        };
        let met = match met {
            // No client can use an agent that is ending. Its exit record follows soon.
            Ok((hello, ..)) if hello.ending => {
                timeout(left, until_gone(dir)).await.ok();
                Err(io::ErrorKind::TimedOut.into())
            }
            Ok(met) => Ok(met),
            Err(error) => Err(error),
        };
        match met {
            Ok((hello, stream, outgoing)) => {
                let on_disk = std::fs::metadata(spool_path(dir)).map_or(0, |it| it.len());
                let (away_ms, spooled) = (hello.away_ms, hello.spooled.min(on_disk));
                let mut events = events(dir, Source::Shim(stream));
                events.agent = Some(hello.agent);
                let shim = handle(dir, Some(hello), Some(outgoing));
                let presence = Presence::Alive { away: Duration::from_millis(away_ms), spooled };
                return Ok(Attached { shim, events, presence });
            }
            Err(error) if Instant::now() >= until => {
                if !has_client {
                    hunted(dir, None).await;
                }
                return match ended(dir).await {
                    Some(record) => Ok(gone(dir, record).await),
                    None => Err(Context::of(dir).error(ShimErrorKind::Gone(error))),
                };
            }
            // The shim is starting or ending, or it rejects us.
            Err(error) => {
                has_client |= error.kind() == io::ErrorKind::ResourceBusy;
                sleep(TRY_AGAIN).await;
            }
        }
    }
}

/// Builds the result for an agent that has ended.
async fn gone(dir: &Path, record: ExitRecord) -> Attached {
    let presence = match (record.ordered, record.exit.code, record.exit.signal) {
        (true, ..) | (false, None, None) => Presence::Lost,
        (false, ..) => Presence::Ended,
    };
    let mut events = events(dir, Source::Nothing);
    events.exit = Some(record);
    events.read_spool().await;
    Attached { shim: handle(dir, None, None), events, presence }
}

async fn come_back(dir: &Path) -> io::Result<(Hello, BufReader<OwnedReadHalf>, Outgoing)> {
    meet(UnixStream::connect(&read_spec(dir)?.socket).await?).await
}

/// Registers as the client and reads from the beginning of the spool.
pub(super) async fn meet(
    stream: UnixStream,
) -> io::Result<(Hello, BufReader<OwnedReadHalf>, Outgoing)> {
    let (read, write) = stream.into_split();
    let mut stream = BufReader::new(read);
    let mut outgoing = Outgoing { stream: write, pending: VecDeque::new() };
    encode(&Order::Attach { from: 0 }, &mut outgoing.pending);
    outgoing.flush().await?;
    let line = read_line(&mut stream, &mut Vec::new()).await?;
    let line = line.ok_or(io::ErrorKind::ResourceBusy)?;
    match serde_json::from_slice(&line) {
        Ok(Report::Hello(hello)) if hello.shim.pid > 0 => Ok((hello, stream, outgoing)),
        Ok(_) | Err(_) => Err(io::Error::other("it did not say hello")),
    }
}

pub(super) fn events(dir: &Path, source: Source) -> ShimEvents {
    ShimEvents {
        source,
        dir: dir.to_owned(),
        agent: None,
        shim: None,
        begun: Vec::new(),
        position: 0,
        exit: None,
        was_silent: false,
        is_over: false,
    }
}

/// Without a connection, nothing can be sent.
pub(super) fn handle(dir: &Path, hello: Option<Hello>, outgoing: Option<Outgoing>) -> ShimHandle {
    let pid = hello.map(|it| u32::try_from(it.shim.pid).expect("a process number is positive"));
    ShimHandle {
        pid,
        socket: read_spec(dir).map(|it| it.socket).unwrap_or_default(),
        context: Context::of(dir),
        outgoing: Mutex::new(outgoing),
    }
}
