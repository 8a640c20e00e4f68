//! A running command, with its outputs in pipes.

use crate::{Finished, PATIENCE, Process};
use rustix::process::Signal;
use std::{
    io::Read,
    process::{Child, Command, Stdio},
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

pub struct Running {
    arguments: Vec<String>,
    child: Child,
    process: Process,
    stdout: PipeOutput,
    stderr: PipeOutput,
    readers: Vec<JoinHandle<()>>,
}

/// The output of a pipe so far.
#[derive(Clone, Default)]
pub(crate) struct PipeOutput {
    text: Arc<(Mutex<Vec<u8>>, Condvar)>,
}

impl Running {
    pub(crate) fn start(mut command: Command, arguments: &[&str]) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary can be started");
        let process = Process::of(child.id()).expect("it was just started");
        let (stdout, stderr) = (PipeOutput::default(), PipeOutput::default());
        let out = child.stdout.take().expect("it is piped");
        let err = child.stderr.take().expect("it is piped");
        let readers = vec![stdout.listen(out), stderr.listen(err)];
        let arguments = arguments.iter().map(ToString::to_string).collect();
        Self { arguments, child, process, stdout, stderr, readers }
    }

    /// Waits until stderr contains the text.
    #[track_caller]
    pub fn await_note(&self, text: &str) {
        self.stderr.wait_for(text, 0);
    }

    /// Waits until stdout contains the text.
    #[track_caller]
    pub fn await_result(&self, text: &str) {
        self.stdout.wait_for(text, 0);
    }

    /// Its process id.
    pub fn pid(&self) -> i32 {
        self.process.pid
    }

    /// Whether it has exited.
    pub fn is_over(&self) -> bool {
        self.process.await_end(Duration::ZERO)
    }

    /// The content of stderr so far.
    pub fn notes(&self) -> String {
        self.stderr.text()
    }

    /// The content of stdout so far.
    pub fn results(&self) -> String {
        self.stdout.text()
    }

    pub fn interrupt(&self) {
        self.process.signal(Signal::INT);
    }

    pub fn kill(&self) {
        self.process.signal(Signal::KILL);
    }

    /// Waits until it exits.
    #[track_caller]
    pub fn wait(mut self) -> Finished {
        if !self.process.await_end(PATIENCE) {
            self.process.signal(Signal::KILL);
            let heard = format!("{}{}", self.stdout.text(), self.stderr.text());
            panic!("`pitcrew {}` does not end:\n{heard}", self.arguments.join(" "));
        }
        let code = self.child.wait().expect("it can be waited for").code();
        for reader in self.readers.drain(..) {
            reader.join().expect("a reader does not panic");
        }
        Finished {
            arguments: std::mem::take(&mut self.arguments),
            code,
            stdout: self.stdout.text(),
            stderr: self.stderr.text(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.process.signal(Signal::KILL);
        self.child.wait().ok();
    }
}

impl PipeOutput {
    pub(crate) fn listen(&self, mut pipe: impl Read + Send + 'static) -> JoinHandle<()> {
        let text = self.text.clone();
        thread::spawn(move || {
            let mut buffer = [0; 4_096];
            while let Ok(count @ 1..) = pipe.read(&mut buffer) {
                let mut heard = text.0.lock().unwrap_or_else(PoisonError::into_inner);
                heard.extend_from_slice(&buffer[..count]);
                text.1.notify_all();
            }
        })
    }

    pub(crate) fn text(&self) -> String {
        let heard = self.text.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&heard).into_owned()
    }

    /// Waits until `wanted` occurs after the first `from` bytes; returns its end.
    #[track_caller]
    pub(crate) fn wait_for(&self, wanted: &str, from: usize) -> usize {
        let deadline = Instant::now() + PATIENCE;
        let mut heard = self.text.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let found = heard[from..].windows(wanted.len()).position(|it| it == wanted.as_bytes());
            if let Some(at) = found {
                return from + at + wanted.len();
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let shown = String::from_utf8_lossy(&heard).into_owned();
            assert!(!left.is_zero(), "`{wanted}` never came:\n{shown}");
            heard = self.text.1.wait_timeout(heard, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
