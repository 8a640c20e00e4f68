use crate::lab::{Lab, attempt, read, write};
use std::{fs, os::unix::fs::symlink};

/// S1-048, S1-050, S1-083, S1-087: agent configuration that git does not track is copied to the
/// checkout, so that an agent has its commands, and is never collected as work.
#[test]
fn ignored_agent_configuration_is_copied() {
    let lab = Lab::new();
    lab.write(".gitignore", ".claude/\n.mcp.json\n");
    lab.commit("ignore");
    for name in ["agents/a.md", "commands/agent.md", "skills/x/SKILL.md", "settings.json"] {
        lab.write(&format!(".claude/{name}"), name);
    }
    lab.write(".mcp.json", "{}");
    let vault = lab.vault();
    let base = lab.plan(&vault);
    assert_eq!(base.dirty_count, 0);
    let path = lab.checkout(&vault, &attempt(1), &base.start).path;
    assert_eq!(read(&path.join(".claude/commands/agent.md")), "commands/agent.md");
    assert_eq!(read(&path.join(".claude/skills/x/SKILL.md")), "skills/x/SKILL.md");
    assert_eq!(read(&path.join(".mcp.json")), "{}");
    write(&path.join(".gitignore"), "# nothing is ignored any more\n");
    let work = lab.collect(&vault, &attempt(1), &path, &base.start, &[]).unwrap();
    assert_eq!(work.files_count, 1, "{:?}", work.files);
}

#[test]
fn tracked_files_are_not_overwritten() {
    let lab = Lab::new();
    lab.write(".claude/settings.json", "tracked");
    lab.commit("configuration");
    let vault = lab.vault();
    let base = lab.plan(&vault);
    lab.write(".claude/settings.json", "changed since");
    lab.write(".claude/local.json", "new since");
    let path = lab.checkout(&vault, &attempt(1), &base.start).path;
    assert_eq!(read(&path.join(".claude/settings.json")), "tracked");
    assert_eq!(read(&path.join(".claude/local.json")), "new since");
}

#[test]
fn worktreeinclude_names_ignored_files_to_copy() {
    let lab = Lab::new();
    lab.write(".gitignore", ".env*\nnode_modules/\nsecret/\n*.key\n");
    lab.write(".worktreeinclude", "# local things\n.env\nnode_modules/\n*.key\n!not-this.key\n");
    lab.commit("ignore");
    lab.write(".env", "A=1");
    lab.write("api/.env", "B=2");
    lab.write(".env.other", "no");
    lab.write("node_modules/x/index.js", "x");
    lab.write("deep/er/a b.key", "key");
    lab.write("not-this.key", "no");
    lab.write("secret/s", "no");
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let path = lab.checkout(&vault, &attempt(1), &base.start).path;
    assert_eq!(read(&path.join(".env")), "A=1");
    assert_eq!(read(&path.join("api/.env")), "B=2");
    assert_eq!(read(&path.join("node_modules/x/index.js")), "x");
    assert_eq!(read(&path.join("deep/er/a b.key")), "key");
    for name in [".env.other", "not-this.key", "secret"] {
        assert!(!path.join(name).exists(), "{name}");
    }
}

#[test]
fn link_out_of_the_repository_is_copied_as_its_target() {
    let lab = Lab::new();
    lab.write(".gitignore", ".claude\n");
    lab.commit("ignore");
    write(&lab.home().join("dotfiles/settings.json"), "mine");
    symlink(lab.home().join("dotfiles"), lab.user.join(".claude")).unwrap();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let path = lab.checkout(&vault, &attempt(1), &base.start).path;
    write(&path.join(".claude/settings.json"), "written by an agent");
    assert_eq!(read(&lab.home().join("dotfiles/settings.json")), "mine");
    assert!(fs::symlink_metadata(path.join(".claude")).unwrap().is_dir());
}
