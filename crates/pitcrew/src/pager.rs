//! Shows long results in a pager, at a terminal.
//!
//! The pager gets the whole result at its end, so that a result that cannot be paged is printed as
//! usual.

use crate::{output::Output, report::Report};
use pitcrew_process::run_fed;
use std::{ffi::OsString, path::Path};
use tokio::signal::unix::{SignalKind, signal};

const PAGER_DEFAULT: &str = "less";
/// Exit codes of a shell that could not run the program.
const NOT_RUN: [i32; 2] = [126, 127];

/// A result that may go to a pager.
pub struct Paged {
    output: Output,
    /// The command of the pager, and what it will get.
    pager: Option<(OsString, String)>,
}

impl Paged {
    /// Uses no pager if `unpaged`, or without a person at the terminal.
    pub fn new(output: Output, unpaged: bool) -> Self {
        let pager = if unpaged || !output.can_page { None } else { chosen() };
        Self { output, pager: pager.map(|it| (it, String::new())) }
    }

    pub fn print(&mut self, text: &str) -> Result<(), Report> {
        match &mut self.pager {
            Some((_, kept)) => {
                kept.push_str(text);
                Ok(())
            }
            None => self.output.print(text),
        }
    }

    pub fn line(&mut self, line: &str) -> Result<(), Report> {
        self.print(&format!("{line}\n"))
    }

    /// Waits until the person leaves the pager.
    pub fn finish(self) -> Result<(), Report> {
        let Some((pager, text)) = self.pager.filter(|it| !it.1.is_empty()) else { return Ok(()) };
        // Ctrl-C is for the pager while it runs.
        let _ignored = signal(SignalKind::interrupt());
        let argv = [OsString::from("sh"), "-c".into(), pager];
        match run_fed(&argv, Path::new("."), defaults(), text.as_bytes()) {
            Ok(Some(code)) if NOT_RUN.contains(&code) => self.output.print(&text),
            Ok(_) => Ok(()),
            Err(_) => self.output.print(&text),
        }
    }
}

/// The pager that the person chose; none if it is empty or `cat`.
fn chosen() -> Option<OsString> {
    let set = ["PITCREW_PAGER", "PAGER"].into_iter().find_map(std::env::var_os);
    let pager = set.unwrap_or_else(|| PAGER_DEFAULT.into());
    let name = pager.to_string_lossy().trim().to_owned();
    (!name.is_empty() && name != "cat").then_some(pager)
}

/// As git does: leave at the end of a short text, show colours, and keep the screen.
fn defaults() -> Vec<(OsString, OsString)> {
    let defaults = [("LESS", "FRX"), ("LV", "-c")];
    let unset = defaults.into_iter().filter(|it| std::env::var_os(it.0).is_none());
    unset.map(|(name, value)| (name.into(), value.into())).collect()
}
