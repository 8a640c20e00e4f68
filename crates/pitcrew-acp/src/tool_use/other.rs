//! Derives the kind of a tool from its name, if the agent reports the kind as `other`.
//!
//! Paths and commands are checked separately.

use super::letters;

const CHANGES: &[&str] = &["write", "writefile", "createfile", "edit", "editfile", "replace"];
const READS: &[&str] = &["read", "readfile", "view", "viewfile", "tree", "ls", "listdirectory"];

/// The kind of a tool whose title is only its name, as in goose.
pub fn kind(title: &str) -> &'static str {
    let name = letters(title);
    if CHANGES.contains(&name.as_str()) {
        "edit"
    } else if READS.contains(&name.as_str()) {
        "read"
    } else {
        "other"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_tool_is_recognized_by_its_name() {
        assert_eq!(["write", "edit", "tree"].map(kind), ["edit", "edit", "read"]);
        assert_eq!(["shell", "write to the moon", "web_search", ""].map(kind), ["other"; 4]);
    }
}
