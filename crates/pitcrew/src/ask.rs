//! Input from the person at the terminal: typed lines and Ctrl-C.

use crate::{exit::Exit, output::Output, report::Report};
use std::io::{self, BufRead, Write};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc,
};

/// A person who can be asked while other work continues.
pub struct Person {
    interrupts: Signal,
    keys: Keys,
}

/// The state of standard input.
enum Keys {
    /// Not read yet: a program that we start may need the terminal.
    Untouched,
    Open(mpsc::UnboundedReceiver<String>),
    /// The input has ended: every further question gets an empty answer.
    Closed {
        asked: bool,
    },
}

/// Input from the person.
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
    /// Starts to handle Ctrl-C. The second Ctrl-C exits the process, whatever the first one started.
    pub fn listen() -> Result<Self, Report> {
        let interrupts = interrupts()?;
        tokio::spawn(leave_at_the_second(self::interrupts()?));
        Ok(Self { interrupts, keys: Keys::Untouched })
    }

    /// Asks a question. Earlier input is discarded.
    pub fn prompt(&mut self, output: Output, question: &str) {
        match &mut self.keys {
            Keys::Untouched => self.keys = Keys::Open(read_lines()),
            Keys::Open(lines) => while lines.try_recv().is_ok() {},
            Keys::Closed { asked } => *asked = true,
        }
        write!(io::stderr(), "{} ", output.err.bold(question)).ok();
        io::stderr().flush().ok();
    }

    /// Waits for the answer to the last prompt. Cancel-safe.
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

    /// Asks a yes-or-no question. Any other answer counts as no.
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
    writeln!(io::stderr(), "\nexited immediately; `pitcrew status` shows what is still running")
        .ok();
    std::process::exit(Exit::Interrupted.code().into());
}

pub fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

/// The thread ends with the process, because a blocking read from a terminal cannot be interrupted.
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
