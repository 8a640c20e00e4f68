//! A command at a terminal, with a user who types.

use crate::{PATIENCE, Process, running::PipeOutput, screen};
use rustix::{
    process::Signal,
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize},
};
use std::{
    fs::{File, OpenOptions},
    io::Write,
    process::{Child, Command},
    time::Duration,
};

pub struct Terminal {
    child: Child,
    process: Process,
    keyboard: File,
    screen: PipeOutput,
    /// The output that was matched already.
    seen: usize,
}

impl Terminal {
    pub(crate) fn start(mut command: Command, columns: u16) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&master).expect("a terminal of ours");
        unlockpt(&master).expect("a terminal of ours");
        let size = Winsize { ws_row: 40, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).expect("a terminal has a size");
        let name = ptsname(&master, Vec::new()).expect("a terminal has a name");
        let name = name.into_string().expect("its name is plain");
        let end = || OpenOptions::new().read(true).write(true).open(&name).expect("the other end");
        command.env("TERM", "xterm").stdin(end()).stdout(end()).stderr(end());
        let child = command.spawn().expect("the binary can be started");
        // Our copies of the other end are closed with the command, so that its exit is noticed.
        drop(command);
        let process = Process::of(child.id()).expect("it was just started");
        let keyboard = File::from(master);
        let screen = PipeOutput::default();
        screen.listen(keyboard.try_clone().expect("a further handle"));
        Self { child, process, keyboard, screen, seen: 0 }
    }

    /// Waits until the screen shows the text, after the previously matched text.
    #[track_caller]
    pub fn await_text(&mut self, text: &str) {
        self.seen = self.screen.wait_for(text, self.seen);
    }

    pub fn type_line(&mut self, line: &str) {
        self.type_keys(&format!("{line}\n"));
    }

    pub fn type_keys(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("the terminal is open");
    }

    /// Simulates Ctrl-C: the terminal shows it, and the command gets the signal.
    pub fn interrupt(&mut self) {
        let shown = self.screen.text().len();
        self.keyboard.write_all(b"\x03").expect("the terminal is open");
        // The terminal discards output that was not shown yet, so the order matters.
        self.screen.wait_for("^C", shown);
        self.interrupt_unseen();
    }

    /// A second Ctrl-C, which a command that is exiting may not receive.
    pub fn interrupt_unseen(&self) {
        self.process.signal(Signal::INT);
    }

    /// Stops the command, as Ctrl-Z does, and lets it continue, as `fg` does.
    pub fn suspend(&self) {
        self.process.signal(Signal::STOP);
        self.process.signal(Signal::CONT);
    }

    pub fn has_ended(&self) -> bool {
        self.process.await_end(Duration::ZERO)
    }

    /// Whether the terminal shows what is typed.
    pub fn echoes(&self) -> bool {
        let modes = tcgetattr(&self.keyboard).expect("the terminal is open");
        modes.local_modes.contains(LocalModes::ECHO)
    }

    /// The lines that a person sees now, without colours.
    pub fn lines(&self) -> Vec<String> {
        screen::lines(&self.text())
    }

    /// The complete output, including escapes.
    pub fn text(&self) -> String {
        self.screen.text()
    }

    /// Waits until it exits; returns its exit code.
    #[track_caller]
    pub fn wait(&mut self) -> Option<i32> {
        assert!(self.process.await_end(PATIENCE), "it does not end:\n{}", self.text());
        self.child.wait().expect("it can be waited for").code()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.process.signal(Signal::KILL);
        self.child.wait().ok();
    }
}
