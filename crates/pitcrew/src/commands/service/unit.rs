//! The text of a systemd unit.

use crate::exit::Exit;
use std::{
    fmt::Write,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

/// How the orchestrator of one repository is started.
pub(super) struct Unit {
    pub(super) program: PathBuf,
    pub(super) workspace: PathBuf,
    pub(super) environment: Vec<(String, String)>,
}

impl Unit {
    pub(super) fn render(&self) -> String {
        let workspace = word(self.workspace.as_os_str().as_bytes());
        // The colon prevents systemd from expanding `$` in a path.
        let program = word(&[b":", self.program.as_os_str().as_bytes()].concat());
        let mut environment = String::new();
        for (name, value) in &self.environment {
            let pair = word(format!("{name}={value}").as_bytes());
            writeln!(environment, "Environment={pair}").expect("a string takes everything");
        }
        let refused = Exit::Refused.code();
        format!(
            "\
# Written by `pitcrew service install`; `pitcrew service uninstall` removes it.
[Unit]
Description={}
StartLimitIntervalSec=600
StartLimitBurst=5

[Service]
Type=exec
# Ends by itself, with success, once nothing is left to do.
ExecStart={program} serve --on-demand --workspace {workspace}
{environment}# {refused}: another orchestrator serves this repository already.
SuccessExitStatus={refused}
Restart=on-failure
RestartSec=5
# Agents outlive a crash of the orchestrator; the next one continues with them.
KillMode=process

[Install]
WantedBy=default.target
",
            description(&self.workspace)
        )
    }
}

/// Quotes an argument or assignment, so that spaces do not split it and `%` is no specifier.
fn word(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '"' | '\\' => text.extend(['\\', character]),
                '%' => text.push_str("%%"),
                it if it.is_ascii_control() => escape(&mut text, it as u8),
                it => text.push(it),
            }
        }
        for byte in chunk.invalid() {
            escape(&mut text, *byte);
        }
    }
    text.push('"');
    text
}

fn escape(text: &mut String, byte: u8) {
    write!(text, "\\x{byte:02x}").expect("a string takes everything");
}

/// A one-line description in which `%` is no specifier.
fn description(workspace: &Path) -> String {
    let path: String =
        workspace.display().to_string().chars().filter(|it| !it.is_control()).collect();
    // A backslash at the end of a line would continue it.
    format!("Pitcrew in {}", path.replace('%', "%%").trim_end_matches('\\'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoting_preserves_the_path() {
        let written = |path: &[u8]| word(path);
        assert_eq!(written(b"/plain/path"), r#""/plain/path""#);
        assert_eq!(written(b"/with space/100%/$HOME"), r#""/with space/100%%/$HOME""#);
        assert_eq!(written(b"/a\"b\\c\nd"), r#""/a\"b\\c\x0ad""#);
        assert_eq!(written("/größe".as_bytes()), r#""/größe""#);
        assert_eq!(written(b"/latin-\xe9"), r#""/latin-\xe9""#);
    }

    #[test]
    fn the_description_is_one_line() {
        assert_eq!(description(Path::new("/a 5%\nb\\")), "Pitcrew in /a 5%%b");
    }
}
