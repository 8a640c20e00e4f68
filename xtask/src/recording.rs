//! `cargo xtask recording`: records the demo in a terminal and draws it as the animated picture of
//! the README.
//!
//! The picture shows what the installed build printed, at the times at which it printed it. Nothing
//! in it is written by hand. Needs `script` of util-linux.

mod screen;
mod svg;

use crate::program::{Failure, command, root, run_cargo};
use screen::{Screen, Size};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Where the picture is.
const PICTURE: &str = "docs/demo.svg";
/// More would delay the first page that a newcomer opens.
const BYTES_MAX: usize = 150_000;
const SIZE: Size = Size { columns: 110, rows: 32 };
/// Changes that are closer to each other than this are one frame.
const FRAME_MS_MIN: u64 = 80;
/// What the terminal runs.
const DEMO: &str = "printf '\\033[1m$ pitcrew demo\\033[0m\\n'; exec pitcrew demo";

/// What was visible from a time on.
struct Frame {
    at_ms: u64,
    screen: Screen,
}

pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let binary = match arguments {
        [] => build()?,
        [option, path] if option == "--binary" => PathBuf::from(path),
        _ => return Err(Failure("usage: cargo xtask recording [--binary PATH]".into())),
    };
    let binaries = binary.canonicalize().ok().and_then(|it| Some(it.parent()?.to_owned()));
    let binaries = binaries
        .ok_or_else(|| Failure(format!("cannot find the binary `{}`", binary.display())))?;
    let folder = std::env::temp_dir().join(format!("pitcrew-recording-{}", std::process::id()));
    let recorded = record(&folder, &binaries);
    fs::remove_dir_all(&folder).ok();
    let picture = svg::draw(&recorded?, SIZE);
    if picture.len() > BYTES_MAX {
        let bytes = picture.len();
        return Err(Failure(format!(
            "the picture has {bytes} bytes, at most {BYTES_MAX} are allowed"
        )));
    }
    fs::write(root().join(PICTURE), &picture)
        .map_err(|error| Failure(format!("cannot write `{PICTURE}`: {error}")))?;
    println!("{PICTURE}: {} bytes", picture.len());
    Ok(())
}

/// Builds what people install.
fn build() -> Result<PathBuf, Failure> {
    run_cargo(&["build", "--profile", "dist", "--package", "pitcrew"], &[])?;
    let target = std::env::var_os("CARGO_TARGET_DIR");
    let target = target.map_or_else(|| root().join("target"), PathBuf::from);
    Ok(target.join("dist/pitcrew"))
}

/// Runs the demo in a home of its own.
fn record(folder: &Path, binaries: &Path) -> Result<Vec<Frame>, Failure> {
    let failed = |error: std::io::Error| Failure(format!("cannot record the demo: {error}"));
    fs::create_dir_all(folder.join("run")).map_err(failed)?;
    let Size { columns, rows } = SIZE;
    let path = std::env::var("PATH").unwrap_or_default();
    let status = command("script", &["--quiet", "--return", "--echo", "never"])
        .args(["--log-out", "output", "--log-timing", "timing"])
        .args(["--command", &format!("stty columns {columns} rows {rows}; {DEMO}")])
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", binaries.display()))
        .env("HOME", folder)
        .env("XDG_RUNTIME_DIR", folder.join("run"))
        .env_remove("XDG_STATE_HOME")
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("XDG_CACHE_HOME")
        .env_remove("NO_COLOR")
        .env("TERM", "xterm-256color")
        .env("LC_ALL", "C.UTF-8")
        .stdout(std::process::Stdio::null())
        .status()
        .map_err(|error| Failure(format!("`script` of util-linux is required: {error}")))?;
    let output = fs::read(folder.join("output")).map_err(failed)?;
    if !status.success() {
        let output = String::from_utf8_lossy(&output);
        return Err(Failure(format!("the demo failed: {status}\n{output}")));
    }
    let timing = fs::read_to_string(folder.join("timing")).map_err(failed)?;
    frames(&output, &timing)
}

/// Replays a recording of `script`: a header line and the output; a delay and a length in each line
/// of `timing`.
fn frames(output: &[u8], timing: &str) -> Result<Vec<Frame>, Failure> {
    let header = output.iter().position(|it| *it == b'\n').map_or(0, |it| it + 1);
    let mut rest = &output[header..];
    let mut screen = Screen::new(SIZE);
    let mut frames: Vec<Frame> = Vec::new();
    let mut seconds = 0.0;
    for line in timing.lines() {
        let unreadable = || Failure(format!("unreadable line of the timing: `{line}`"));
        let (delay, bytes) = line.split_once(' ').ok_or_else(unreadable)?;
        let delay: f64 = delay.parse().map_err(|_| unreadable())?;
        let bytes: usize = bytes.trim().parse().map_err(|_| unreadable())?;
        let (now, later) = rest.split_at_checked(bytes).ok_or_else(unreadable)?;
        rest = later;
        seconds += delay;
        screen.write(now)?;
        let elapsed = std::time::Duration::from_secs_f64(seconds).as_millis();
        let at_ms = u64::try_from(elapsed).expect("a demo ends within an age");
        match frames.last_mut() {
            Some(last) if at_ms < last.at_ms + FRAME_MS_MIN => last.screen = screen.clone(),
            Some(_) | None => frames.push(Frame { at_ms, screen: screen.clone() }),
        }
    }
    Ok(frames)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_that_are_close_are_one_frame() {
        let output = b"Script started\none\r\ntwo\r\nthree";
        let frames = frames(output, "0.5 5\n0.01 5\n1.25 5\n").expect("a recording");
        let shown: Vec<_> = frames.iter().map(|it| (it.at_ms, it.screen.text())).collect();
        assert_eq!(shown, [(500, "one\ntwo\n".to_owned()), (1760, "one\ntwo\nthree".to_owned())]);
    }

    #[test]
    fn a_torn_recording_is_refused() {
        let refused = |timing| frames(b"header\nabc", timing).err().map(|it| it.to_string());
        assert_eq!(refused("0.5 4"), Some("unreadable line of the timing: `0.5 4`".to_owned()));
        assert_eq!(refused("x 3"), Some("unreadable line of the timing: `x 3`".to_owned()));
    }

    /// A changed demo needs a new recording.
    #[test]
    fn the_picture_shows_the_demo() {
        let picture = fs::read_to_string(root().join(PICTURE)).expect("the picture");
        assert!(picture.len() <= BYTES_MAX, "{}", picture.len());
        let plan = fs::read_to_string(root().join("crates/pitcrew/demo/plan.toml"));
        let plan = plan.expect("the plan of the demo");
        let tasks: Vec<_> = plan.lines().filter_map(|it| it.strip_prefix("id = \"")).collect();
        assert_eq!(tasks.len(), 9);
        for task in tasks {
            let task = task.trim_end_matches('"');
            assert!(picture.contains(task), "no {task}: run `cargo xtask recording`");
        }
        assert!(picture.contains("9 of 9 completed") && picture.contains("landed on main"));
    }
}
