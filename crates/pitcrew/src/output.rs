//! Where output goes: results to standard output, everything else to standard error.
//!
//! Never decides what is printed.

use crate::{
    exit::Exit,
    render::{Style, cut_to_width, wrapped},
    report::Report,
};
use serde::Serialize;
use std::{
    io::{self, IsTerminal, Write},
    os::fd::AsFd,
};

/// The capabilities of the terminal.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is independent of the others")]
pub struct Output {
    pub out: Style,
    pub err: Style,
    /// A person is at the terminal and can be asked.
    pub can_ask: bool,
    /// Progress may be redrawn in place.
    pub can_redraw: bool,
    /// Standard output is a terminal.
    pub is_terminal: bool,
    /// A person at the terminal can use a pager.
    pub can_page: bool,
}

impl Output {
    pub fn of_process() -> Self {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|it| !it.is_empty());
        let dumb = std::env::var_os("TERM").is_none_or(|it| it == "dumb");
        let (out, err) = (io::stdout().is_terminal(), io::stderr().is_terminal());
        let colour = |terminal: bool| {
            if terminal && !dumb && !is_set("NO_COLOR") {
                Style::coloured()
            } else {
                Style::plain()
            }
        };
        Self {
            out: colour(out),
            err: colour(err),
            can_ask: io::stdin().is_terminal() && err && !is_set("CI"),
            can_redraw: err && !dumb && !is_set("CI") && !is_set("NO_COLOR"),
            is_terminal: out,
            can_page: out && io::stdin().is_terminal() && !dumb && !is_set("CI"),
        }
    }

    /// Prints a result.
    #[expect(clippy::unused_self, reason = "output goes through the value that knows the terminal")]
    pub fn print(self, text: &str) -> Result<(), Report> {
        let written = io::stdout().lock().write_all(text.as_bytes());
        written.and_then(|()| io::stdout().flush()).map_err(|error| {
            if error.kind() == io::ErrorKind::BrokenPipe {
                return Report::reader_gone();
            }
            Report::new(Exit::Failure, "failed to write to standard output")
                .because(error.to_string())
        })
    }

    pub fn line(self, line: &str) -> Result<(), Report> {
        self.print(&format!("{line}\n"))
    }

    /// Prints one JSON document, or one line of a stream.
    pub fn json(self, value: &impl Serialize) -> Result<(), Report> {
        let text = serde_json::to_string(value).expect("our wire types are representable in JSON");
        self.line(&text)
    }

    /// The width of the terminal that results go to. Elsewhere lines may have any width.
    pub fn columns(self) -> usize {
        if !self.is_terminal {
            return usize::MAX;
        }
        size(io::stdout()).0
    }

    /// Rings the bell of the terminal. Returns whether there is one.
    #[expect(clippy::unused_self, reason = "output goes through the value that knows the terminal")]
    pub fn ring(self) -> bool {
        let is_attended = io::stderr().is_terminal();
        if is_attended {
            write!(io::stderr().lock(), "\x07").ok();
        }
        is_attended
    }

    /// Prints a note to standard error. A failed write is ignored.
    #[expect(clippy::unused_self, reason = "output goes through the value that knows the terminal")]
    pub fn note(self, text: &str) {
        writeln!(io::stderr().lock(), "{text}").ok();
    }
}

/// The block at the bottom of the terminal that is redrawn in place.
pub struct Screen {
    drawn_count: usize,
    /// The cursor is at the end of the last line, where the person types.
    is_asking: bool,
}

/// Rows of an answer in progress that are shown: its last ones.
const ANSWER_ROWS_MAX: usize = 6;

impl Screen {
    pub fn new() -> Self {
        Self { drawn_count: 0, is_asking: false }
    }

    /// Prints `above` over the block, where it scrolls, and redraws the block. A question and the
    /// answer so far stand below it.
    pub fn draw(&mut self, above: &[String], block: &[String], asked: Option<(&str, &str)>) {
        let (columns, rows) = size(io::stderr());
        let columns = columns.saturating_sub(1);
        let mut text = self.wiped();
        for line in above {
            text.push_str(line);
            text.push('\n');
        }
        let asked = asked.map(|it| asked_rows(it, columns)).unwrap_or_default();
        let room = rows.saturating_sub(2 + asked.len()).max(1);
        let shown = block.iter().take(room).map(|it| cut_to_width(it, columns));
        let shown: Vec<String> = shown.chain(asked.iter().cloned()).collect();
        text.push_str(&shown.join("\n"));
        self.is_asking = !asked.is_empty();
        if !shown.is_empty() && !self.is_asking {
            text.push('\n');
        }
        self.drawn_count = shown.len();
        let mut stderr = io::stderr().lock();
        stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush()).ok();
    }

    /// Leaves the block where it is, for what other programs have printed below it.
    pub fn forget(&mut self) {
        if self.is_asking {
            // The cursor may still be behind the answer in progress.
            writeln!(io::stderr().lock()).ok();
        }
        (self.drawn_count, self.is_asking) = (0, false);
    }

    /// Removes the block, so that other text can be printed.
    pub fn clear(&mut self) {
        self.draw(&[], &[], None);
    }

    fn wiped(&self) -> String {
        match self.drawn_count - usize::from(self.is_asking) {
            0 if self.is_asking => "\r\u{1b}[0J".to_owned(),
            0 => String::new(),
            // From the first column: typed characters such as ^C may follow the block.
            count => format!("\r\u{1b}[{count}A\u{1b}[0J"),
        }
    }
}

/// The question, and the answer so far in a line of its own.
fn asked_rows((question, answer): (&str, &str), columns: usize) -> Vec<String> {
    let answer = wrapped(&format!("> {answer}"), columns);
    let hidden = answer.len().saturating_sub(ANSWER_ROWS_MAX);
    let mut rows = vec![cut_to_width(question, columns)];
    rows.extend_from_slice(&answer[hidden..]);
    rows
}

fn size(terminal: impl AsFd) -> (usize, usize) {
    match rustix::termios::tcgetwinsize(terminal) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
            (usize::from(size.ws_col), usize::from(size.ws_row))
        }
        Ok(_) | Err(_) => (80, 24),
    }
}
