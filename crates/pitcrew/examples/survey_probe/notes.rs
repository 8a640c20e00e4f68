//! Files through which the probe and the survey outside exchange messages.

use std::{
    env, fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// The name of the note folder, which is created in the first writable of these places.
const FOLDER: &str = "survey-notes";
const PLACES: &[&str] = &[".git", ".", "core"];
const PATIENCE: Duration = Duration::from_mins(1);

pub struct Notes(PathBuf);

/// Facts that only the survey knows.
#[derive(Default)]
pub struct Orders {
    /// Whether this kind of box has already been surveyed.
    pub is_skipped: bool,
    /// Paths that exist outside.
    pub paths: Vec<PathBuf>,
    /// Pairs of kind and address. The kinds are `stream`, `dgram`, `abstract-stream`,
    /// `abstract-dgram`, `tcp` and `udp`.
    pub sockets: Vec<(String, String)>,
    /// Processes outside, each with a name.
    pub processes: Vec<(i32, String)>,
}

impl Notes {
    /// Announces the probe and waits for the response of the survey.
    pub fn begin(kind: &str) -> Option<Self> {
        let here = env::current_dir().ok()?;
        let folders = PLACES.iter().map(|it| here.join(it).join(FOLDER));
        let folder = folders.into_iter().find(|it| fs::create_dir(it).is_ok())?;
        let notes = Self(folder);
        let ready = format!("{kind}\n{}\n{}\n", std::process::id(), here.display());
        notes.write("ready", &ready);
        notes.wait_for("orders").then_some(notes)
    }

    pub fn orders(&self) -> Orders {
        let mut orders = Orders::default();
        let text = fs::read_to_string(self.0.join("orders")).unwrap_or_default();
        for line in text.lines() {
            match line.split_once(' ') {
                Some(("path", path)) => orders.paths.push(path.into()),
                Some(("process", rest)) => {
                    let named = rest
                        .split_once(' ')
                        .and_then(|(pid, name)| Some((pid.parse().ok()?, name.to_owned())));
                    orders.processes.extend(named);
                }
                Some((kind, place)) => orders.sockets.push((kind.into(), place.into())),
                None => orders.is_skipped = line == "skip",
            }
        }
        orders
    }

    /// Writes the report and waits until the survey has inspected this process from outside.
    pub fn finish(&self, report: &[String]) {
        self.write("report", &(report.join("\n") + "\n"));
        self.wait_for("done");
        for name in ["ready", "orders", "report", "done"] {
            fs::remove_file(self.0.join(name)).ok();
        }
        fs::remove_dir(&self.0).ok();
    }

    fn write(&self, name: &str, text: &str) {
        let begun = self.0.join(format!("{name}.new"));
        fs::write(&begun, text).ok();
        fs::rename(&begun, self.0.join(name)).ok();
    }

    fn wait_for(&self, name: &str) -> bool {
        let (path, deadline) = (self.0.join(name), Instant::now() + PATIENCE);
        while !path.exists() {
            if Instant::now() >= deadline {
                return false;
            }
            // SAFETY: this only waits for the timeout.
            unsafe { libc::poll(std::ptr::null_mut(), 0, 10) };
        }
        true
    }
}

/// Whether a path belongs to the notes.
pub fn is_note(path: &Path) -> bool {
    path.components().any(|it| it.as_os_str() == FOLDER)
}
