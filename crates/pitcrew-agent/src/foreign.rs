//! Fuzz tests: any script is parsed or rejected with a line number, without a panic.

use crate::script::{Action, Script};
use pitcrew_model::RepoPath;
use pitcrew_testkit::corpus;

fn assert_stays_inside(path: &str) {
    let parsed = RepoPath::parse(path).expect("a path of the folder");
    assert!(!parsed.is_root() && parsed.as_str() == path, "{path}");
}

#[test]
fn any_script_is_parsed_or_rejected_with_a_line() {
    corpus!("script").check(800, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let lines_count = text.lines().count().max(1);
        match Script::parse(&text) {
            Ok(script) => {
                assert!(!script.steps.is_empty() && script.steps.len() <= lines_count);
                for step in &script.steps {
                    assert!((1..=lines_count).contains(&step.line));
                    if let Action::Write { path, .. }
                    | Action::Append { path, .. }
                    | Action::Read { path }
                    | Action::Delete { path }
                    | Action::Edit { path, .. } = &step.action
                    {
                        assert_stays_inside(path);
                    }
                }
            }
            Err(error) => {
                assert!((1..=lines_count).contains(&error.line), "{error}");
                assert!(!error.reason.is_empty() && !error.remedy.is_empty());
            }
        }
    });
}
