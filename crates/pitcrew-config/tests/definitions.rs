//! Agent definitions: built in, from the repository, and from the user.

use pitcrew_config::{Dirs, read_definitions};
use pitcrew_model::{AgentRef, TaskWork};
use std::{collections::BTreeMap, fs, path::Path};

fn write(path: &Path, description: &str, role: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
    let text = format!("---\ndescription: {description}\nmodel: [small, large]\n---\n{role}\n");
    fs::write(path, text).expect("a file");
}

/// S4-019..S4-021, S4-026, S4-027, S4-138, S4-143..S4-145: a user's definition overrides the
/// repository's, which overrides a built-in one; problems in a file are reported with their
/// location.
#[test]
fn the_users_definition_overrides_the_others() {
    let home = tempfile::tempdir().expect("a folder");
    let pairs = [("HOME".to_owned(), home.path().display().to_string())];
    let environment: BTreeMap<String, String> = pairs.into();
    let dirs = Dirs::from_env(&environment, 1000).expect("folders");
    let root = home.path().join("repository");
    let builtin = read_definitions(&dirs, &root);
    assert!(builtin.get("architect").is_some() && builtin.get("reviewer").is_some());
    assert_eq!(builtin.errors, Vec::<String>::new());

    write(&root.join(".github/agents/architect.agent.md"), "Ours.", "You are ours.");
    write(&root.join(".github/agents/painter.md"), "Paints.", "You paint.");
    fs::write(root.join(".github/agents/broken.md"), "---\nname: x\n---\n").expect("a file");
    fs::write(root.join(".github/agents/notes.txt"), "no agent").expect("a file");
    write(&dirs.config.join("agents/painter.md"), "Paints well.", "You paint well.");
    let all = read_definitions(&dirs, &root);
    assert_eq!(all.get("architect").expect("it").description, "Ours.");
    assert_eq!(all.get("painter").expect("it").role, "You paint well.");
    assert!(all.get("broken").is_none());
    let [error] = &all.errors[..] else { panic!("{:?}", all.errors) };
    assert!(error.starts_with(".github/agents/broken.md:1:1: error: the agent has no description"));

    let plan =
        "name = \"p\"\n\n[[task]]\nid = \"a\"\nprompt = \"Do it.\"\nagent = \"claude:painter\"\n";
    let defaults = pitcrew_config::PlanDefaults {
        agent: Some(AgentRef::backend("claude")),
        ..pitcrew_config::PlanDefaults::default()
    };
    let mut parsed = pitcrew_config::parse_plan("p.toml", plan, &defaults).expect("a plan");
    all.apply(&mut parsed.spec);
    let task = &parsed.spec.tasks[0];
    let TaskWork::Prompt { prompt } = &task.work else { panic!("{task:?}") };
    assert_eq!(prompt, "You paint well.\n\nDo it.");
    assert_eq!(task.model.as_deref(), Some("small"));
}
