//! The person at the terminal: what they type, and Ctrl-C.

use crate::{exit::Exit, output::Output, report::Report};
use std::io::{self, BufRead, Write};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc,
};

/// Somebody who can be asked while other things happen.
pub struct Person {
    interrupts: Signal,
    keys: Keys,
}

/// What the person can still type.
enum Keys {
    /// Nothing was asked yet, so nothing is read: the terminal may be wanted by others.
    Untouched,
    Open(mpsc::UnboundedReceiver<String>),
    /// The input has ended: every question has an empty answer.
    Closed {
        asked: bool,
    },
}

/// What came from the person.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    Line(String),
    Interrupt,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Yes,
    No,
    Interrupted,
}

impl Person {
    /// From here on Ctrl-C is ours to answer. Whatever is being done about the first one, a second
    /// one ends the command.
    pub fn listen() -> Result<Self, Report> {
        let interrupts = interrupts()?;
        tokio::spawn(leave_at_the_second(self::interrupts()?));
        Ok(Self { interrupts, keys: Keys::Untouched })
    }

    /// Asks something. What was typed before is forgotten.
    pub fn prompt(&mut self, output: Output, question: &str) {
        match &mut self.keys {
            Keys::Untouched => self.keys = Keys::Open(read_lines()),
            Keys::Open(lines) => while lines.try_recv().is_ok() {},
            Keys::Closed { asked } => *asked = true,
        }
        write!(io::stderr(), "{} ", output.err.bold(question)).ok();
        io::stderr().flush().ok();
    }

    /// Waits for the answer to the last prompt. May be dropped at any time.
    pub async fn answer(&mut self) -> Heard {
        let line = match &mut self.keys {
            Keys::Untouched | Keys::Closed { asked: false } => return self.interrupt().await,
            Keys::Closed { asked: true } => None,
            Keys::Open(lines) => tokio::select! {
                line = lines.recv() => line,
                _ = self.interrupts.recv() => return Heard::Interrupt,
            },
        };
        if line.is_none() {
            self.keys = Keys::Closed { asked: false };
        }
        Heard::Line(line.unwrap_or_default())
    }

    pub async fn interrupt(&mut self) -> Heard {
        self.interrupts.recv().await;
        Heard::Interrupt
    }

    /// Asks and waits. Anything but yes is no.
    pub async fn confirm(&mut self, output: Output, question: &str) -> Verdict {
        self.prompt(output, question);
        match self.answer().await {
            Heard::Line(line) if is_yes(&line) => Verdict::Yes,
            Heard::Line(_) => Verdict::No,
            Heard::Interrupt => {
                output.note("");
                Verdict::Interrupted
            }
        }
    }
}

fn interrupts() -> Result<Signal, Report> {
    signal(SignalKind::interrupt()).map_err(|error| {
        Report::new(Exit::Failure, "failed to listen for Ctrl-C").because(error.to_string())
    })
}

async fn leave_at_the_second(mut interrupts: Signal) {
    interrupts.recv().await;
    interrupts.recv().await;
    writeln!(io::stderr(), "\nleft at once; what goes on shows: pitcrew status").ok();
    std::process::exit(Exit::Interrupted.code().into());
}

pub fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

/// The thread ends with the process: nothing can wake it from a terminal's silence.
fn read_lines() -> mpsc::UnboundedReceiver<String> {
    let (sender, lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}
