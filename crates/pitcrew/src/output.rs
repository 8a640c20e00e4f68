//! Where output goes: results to standard output, everything else to standard error.
//!
//! Never decides what is printed.

use crate::{
    exit::Exit,
    render::{Style, cut_to_width},
    report::Report,
};
use serde::Serialize;
use std::io::{self, IsTerminal, Write};

/// The capabilities of the terminal.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    pub out: Style,
    pub err: Style,
    /// A person is at the terminal and can be asked.
    pub can_ask: bool,
    /// Progress may be redrawn in place.
    pub can_redraw: bool,
    /// Standard output is a terminal.
    pub is_terminal: bool,
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

    /// Prints a note to standard error. A failed write is ignored.
    #[expect(clippy::unused_self, reason = "output goes through the value that knows the terminal")]
    pub fn note(self, text: &str) {
        writeln!(io::stderr().lock(), "{text}").ok();
    }
}

/// The block at the bottom of the terminal that is redrawn in place.
pub struct Screen {
    drawn_count: usize,
}

impl Screen {
    pub fn new() -> Self {
        Self { drawn_count: 0 }
    }

    /// Prints `above` over the block, where it scrolls, and redraws the block.
    pub fn draw(&mut self, above: &[String], block: &[String]) {
        let (columns, rows) = size();
        let mut text = self.wiped();
        for line in above {
            text.push_str(line);
            text.push('\n');
        }
        let shown = block.len().min(rows.saturating_sub(2).max(1));
        for line in &block[..shown] {
            text.push_str(&cut_to_width(line, columns.saturating_sub(1)));
            text.push('\n');
        }
        self.drawn_count = shown;
        let mut stderr = io::stderr().lock();
        stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush()).ok();
    }

    /// Removes the block, so that other text can be printed.
    pub fn clear(&mut self) {
        self.draw(&[], &[]);
    }

    fn wiped(&self) -> String {
        match self.drawn_count {
            0 => String::new(),
            // From the first column: typed characters such as ^C may follow the block.
            count => format!("\r\u{1b}[{count}A\u{1b}[0J"),
        }
    }
}

fn size() -> (usize, usize) {
    match rustix::termios::tcgetwinsize(io::stderr()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
            (usize::from(size.ws_col), usize::from(size.ws_row))
        }
        Ok(_) | Err(_) => (80, 24),
    }
}
