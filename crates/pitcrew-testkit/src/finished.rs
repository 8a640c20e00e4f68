//! A command that has exited.

use serde_json::Value;

#[derive(Debug)]
pub struct Finished {
    pub arguments: Vec<String>,
    /// `None` if a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Finished {
    /// Fails the test with all details unless the exit code is `code`.
    #[track_caller]
    #[expect(
        clippy::return_self_not_must_use,
        reason = "often the expectation is all there is to it"
    )]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }

    /// Fails the test unless stdout contains `text`.
    #[track_caller]
    #[expect(
        clippy::return_self_not_must_use,
        reason = "often the expectation is all there is to it"
    )]
    pub fn says(self, text: &str) -> Self {
        assert!(self.stdout.contains(text), "no `{text}` on stdout of {self}");
        self
    }

    /// Fails the test unless stderr contains `text`.
    #[track_caller]
    #[expect(
        clippy::return_self_not_must_use,
        reason = "often the expectation is all there is to it"
    )]
    pub fn notes(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "no `{text}` on stderr of {self}");
        self
    }

    /// Stdout as one JSON document.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {self}"))
    }

    /// Stdout as one JSON document per line.
    #[track_caller]
    pub fn json_lines(&self) -> Vec<Value> {
        let parse = |line: &str| match serde_json::from_str(line) {
            Ok(value) => value,
            Err(error) => panic!("{error} in `{line}` of {self}"),
        };
        self.stdout.lines().map(parse).collect()
    }
}

impl std::fmt::Display for Finished {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let arguments = self.arguments.join(" ");
        writeln!(f, "`pitcrew {arguments}`, which exited with {:?}", self.code)?;
        writeln!(f, "--- stdout\n{}--- stderr\n{}---", self.stdout, self.stderr)
    }
}
