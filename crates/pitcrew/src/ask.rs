//! Input from the person at the terminal: typed lines and Ctrl-C.

mod editor;

use crate::{exit::Exit, output::Output, report::Report};
use editor::{Edited, LineEditor, restore_terminal, silence};
use std::io::{self, BufRead, Write};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc,
};

/// A person who can be asked while other work continues.
pub struct Person {
    interrupts: Signal,
    /// The job is in the foreground again.
    continues: Signal,
    state: InputState,
    /// The line in progress, while we show it instead of the terminal.
    editor: Option<LineEditor>,
    lines_max: usize,
}

/// The state of standard input.
enum InputState {
    /// Not read yet: a program that we start may need the terminal.
    Untouched,
    Open(mpsc::UnboundedReceiver<Vec<u8>>),
    /// The input has ended: every further question gets an empty answer.
    Closed {
        asked: bool,
    },
}

/// Input from the person.
#[derive(Debug, PartialEq, Eq)]
pub enum Input {
    Line(String),
    /// The line in progress has changed.
    Typed(String),
    /// The job was stopped and continues: the terminal shows something else now.
    Continued,
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
        let interrupts = listen_for(SignalKind::interrupt())?;
        let continues = listen_for(SignalKind::from_raw(rustix::process::Signal::CONT.as_raw()))?;
        tokio::spawn(exit_on_second_interrupt(listen_for(SignalKind::interrupt())?));
        Ok(Self {
            interrupts,
            continues,
            state: InputState::Untouched,
            editor: None,
            lines_max: usize::MAX,
        })
    }

    /// Reads at most one line, and leaves the terminal to the programs that are started afterwards.
    pub fn listen_once() -> Result<Self, Report> {
        Ok(Self { lines_max: 1, ..Self::listen()? })
    }

    /// Asks a question. Earlier input is discarded.
    pub fn prompt(&mut self, output: Output, question: &str) {
        self.expect_line();
        print_prompt(output, question);
    }

    /// Asks again after other output, without discarding anything.
    pub fn prompt_again(output: Output, question: &str) {
        print_prompt(output, question);
    }

    /// Reads an answer without showing it: `answer` returns what is typed, for a display that
    /// shows it. Returns false if that is not possible at the moment. Earlier input is discarded.
    pub fn edit(&mut self) -> bool {
        if self.editor.is_none() {
            self.editor = LineEditor::start();
        }
        if self.editor.is_some() {
            self.expect_line();
        }
        self.editor.is_some()
    }

    /// Discards the line in progress.
    pub fn stop_editing(&mut self) {
        self.editor = None;
    }

    fn expect_line(&mut self) {
        match &mut self.state {
            InputState::Untouched => self.state = InputState::Open(read_input(self.lines_max)),
            InputState::Open(lines) => while lines.try_recv().is_ok() {},
            InputState::Closed { asked } => *asked = true,
        }
    }

    /// Waits for the answer to the last prompt. Cancel-safe.
    pub async fn answer(&mut self) -> Input {
        let typed = match &mut self.state {
            InputState::Untouched | InputState::Closed { asked: false } => tokio::select! {
                _ = self.interrupts.recv() => return Input::Interrupt,
                _ = self.continues.recv() => return Input::Continued,
            },
            InputState::Closed { asked: true } => None,
            InputState::Open(lines) => tokio::select! {
                typed = lines.recv() => typed,
                _ = self.interrupts.recv() => return Input::Interrupt,
                _ = self.continues.recv() => {
                    if self.editor.is_some() {
                        // The shell has changed the modes for itself.
                        silence();
                    }
                    return Input::Continued;
                }
            },
        };
        let Some(typed) = typed else {
            self.state = InputState::Closed { asked: false };
            self.editor = None;
            return Input::Line(String::new());
        };
        self.take(&typed)
    }

    fn take(&mut self, typed: &[u8]) -> Input {
        let Some(editor) = &mut self.editor else {
            return Input::Line(String::from_utf8_lossy(typed).trim_end_matches('\n').to_owned());
        };
        match editor.take(typed) {
            Edited::Continues => Input::Typed(editor.text().to_owned()),
            Edited::Entered(line) => {
                self.editor = None;
                Input::Line(line)
            }
        }
    }

    pub async fn interrupt(&mut self) -> Input {
        self.interrupts.recv().await;
        Input::Interrupt
    }

    /// Asks a yes-or-no question. Any other answer counts as no.
    pub async fn confirm(&mut self, output: Output, question: &str) -> Confirmation {
        self.prompt(output, question);
        loop {
            match self.answer().await {
                Input::Line(line) if is_yes(&line) => return Confirmation::Yes,
                Input::Line(_) | Input::Typed(_) => return Confirmation::No,
                Input::Continued => print_prompt(output, question),
                Input::Interrupt => {
                    output.note("");
                    return Confirmation::Interrupted;
                }
            }
        }
    }
}

fn listen_for(kind: SignalKind) -> Result<Signal, Report> {
    signal(kind).map_err(|error| {
        Report::new(Exit::Failure, "failed to listen for Ctrl-C").because(error.to_string())
    })
}

fn print_prompt(output: Output, question: &str) {
    write!(io::stderr(), "{} ", output.err.bold(question)).ok();
    io::stderr().flush().ok();
}

async fn exit_on_second_interrupt(mut interrupts: Signal) {
    interrupts.recv().await;
    interrupts.recv().await;
    restore_terminal();
    writeln!(io::stderr(), "\nexited immediately; `pitcrew status` shows what is still running")
        .ok();
    std::process::exit(Exit::Interrupted.code().into());
}

pub fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

/// Sends a line at a time, or a key at a time while a line is edited.
///
/// The thread ends after `lines_max` lines or with the process, because a blocking read from a
/// terminal cannot be interrupted.
fn read_input(lines_max: usize) -> mpsc::UnboundedReceiver<Vec<u8>> {
    let (sender, input) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        let mut stdin = io::stdin().lock();
        let mut lines_left = lines_max;
        while lines_left > 0 {
            let typed = match stdin.fill_buf() {
                Ok(typed) => typed.to_vec(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return,
            };
            stdin.consume(typed.len());
            let lines_count = typed.iter().filter(|it| **it == b'\n').count();
            lines_left = lines_left.saturating_sub(lines_count);
            if typed.is_empty() || sender.send(typed).is_err() {
                return;
            }
        }
    });
    input
}
