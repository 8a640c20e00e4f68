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
    state: InputState,
    lines_max: usize,
}

/// The state of standard input.
enum InputState {
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
pub enum Input {
    Line(String),
    Interrupt,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmation {
    Yes,
    No,
    Interrupted,
}

impl Person {
    /// Starts to handle Ctrl-C. The second Ctrl-C exits the process, whatever the first one
    /// started.
    pub fn listen() -> Result<Self, Report> {
        let interrupts = interrupts()?;
        tokio::spawn(exit_on_second_interrupt(self::interrupts()?));
        Ok(Self { interrupts, state: InputState::Untouched, lines_max: usize::MAX })
    }

    /// Reads at most one line, and leaves the terminal to the programs that are started afterwards.
    pub fn listen_once() -> Result<Self, Report> {
        Ok(Self { lines_max: 1, ..Self::listen()? })
    }

    /// Asks a question. Earlier input is discarded.
    pub fn prompt(&mut self, output: Output, question: &str) {
        match &mut self.state {
            InputState::Untouched => self.state = InputState::Open(read_lines(self.lines_max)),
            InputState::Open(lines) => while lines.try_recv().is_ok() {},
            InputState::Closed { asked } => *asked = true,
        }
        write!(io::stderr(), "{} ", output.err.bold(question)).ok();
        io::stderr().flush().ok();
    }

    /// Waits for the answer to the last prompt. Cancel-safe.
    pub async fn answer(&mut self) -> Input {
        let line = match &mut self.state {
            InputState::Untouched | InputState::Closed { asked: false } => {
                return self.interrupt().await;
            }
            InputState::Closed { asked: true } => None,
            InputState::Open(lines) => tokio::select! {
                line = lines.recv() => line,
                _ = self.interrupts.recv() => return Input::Interrupt,
            },
        };
        if line.is_none() {
            self.state = InputState::Closed { asked: false };
        }
        Input::Line(line.unwrap_or_default())
    }

    pub async fn interrupt(&mut self) -> Input {
        self.interrupts.recv().await;
        Input::Interrupt
    }

    /// Asks a yes-or-no question. Any other answer counts as no.
    pub async fn confirm(&mut self, output: Output, question: &str) -> Confirmation {
        self.prompt(output, question);
        match self.answer().await {
            Input::Line(line) if is_yes(&line) => Confirmation::Yes,
            Input::Line(_) => Confirmation::No,
            Input::Interrupt => {
                output.note("");
                Confirmation::Interrupted
            }
        }
    }
}

fn interrupts() -> Result<Signal, Report> {
    signal(SignalKind::interrupt()).map_err(|error| {
        Report::new(Exit::Failure, "failed to listen for Ctrl-C").because(error.to_string())
    })
}

async fn exit_on_second_interrupt(mut interrupts: Signal) {
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
fn read_lines(lines_max: usize) -> mpsc::UnboundedReceiver<String> {
    let (sender, lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines().take(lines_max) {
            let Ok(line) = line else { return };
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}
