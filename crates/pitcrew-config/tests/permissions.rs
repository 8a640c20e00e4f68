//! Permissions: files, layers, and mistakes.

use expect_test::{Expect, expect};
use pitcrew_config::{
    Dirs, LayerText, PermissionEntries, PermissionSources, PermissionText, Permissions, Settings,
    Sources, Trust, read_permissions,
};
use pitcrew_model::{Action, Matrix, Rule, RuleSource, Verdict};
use proptest::prelude::*;
use std::{collections::BTreeMap, fs, path::Path};

const SECTIONS: &str = "\
---
version: 1
---
# Who may do what

Prose before the sections.

## Auto-Approve
- model_switch_same_tier - cheap

## ask user
* file_edits_in_worktree: look at each
+ `file_deletion_in_worktree` (they are gone then)
<!-- - pr_creation
is no rule here -->

### Auto-Deny
- Network Access
- expensive_model_switch # an alias

## Limits
- subtasks_total: 3
- permission_timeout: 10min

## Notes
- force_push is denied anyway
";

const MATTER: &str = "\
---
# everything at the top
version: 1
description: the same
auto_approve: [model_switch_same_tier]
ask_user:
  - file_edits_in_worktree
  - 'file_deletion_in_worktree' # gone then
auto_deny:
- network_access
- model_switch_expensive
limits:
  subtasks_total: 3
  permission_timeout: \"10min\"
---
Prose.
";

fn text(file: &str, text: &str) -> PermissionText {
    PermissionText { file: file.into(), text: Ok(text.into()) }
}

fn workspace(file: &str) -> Permissions {
    let workspace = Some(text("permissions.md", file));
    Permissions::load(&PermissionSources { workspace, ..PermissionSources::default() })
}

fn user(file: &str) -> Permissions {
    let user = Some(text("~/permissions.md", file));
    Permissions::load(&PermissionSources { user, ..PermissionSources::default() })
}

fn file(sections: &str) -> String {
    format!("---\nversion: 1\n---\n{sections}")
}

/// S4-052, S4-053: both forms mean the same.
#[test]
fn sections_and_front_matter_are_equivalent() {
    let (sections, matter) = (workspace(SECTIONS), workspace(MATTER));
    for it in [&sections, &matter] {
        assert!(
            it.errors.is_empty() && it.warnings.is_empty(),
            "{:?} {:?}",
            it.errors,
            it.warnings
        );
        assert!(it.ignored.is_empty(), "{:?}", it.ignored);
        let rule = |action| it.matrix.rule(&action);
        assert_eq!(rule(Action::FileEditsInWorktree), Rule::AskUser);
        assert_eq!(rule(Action::FileDeletionInWorktree), Rule::AskUser);
        assert_eq!(rule(Action::NetworkAccess), Rule::AutoDeny);
        assert_eq!(rule(Action::ModelSwitchExpensive), Rule::AutoDeny);
        assert_eq!(rule(Action::PrCreation), Rule::AskUser);
        assert_eq!(it.matrix.limits.subtasks_total, 3);
        assert_eq!(it.matrix.limits.permission_timeout_ms, Some(600_000));
    }
    let source = sections.matrix.source(&Action::NetworkAccess);
    assert_eq!(source, RuleSource::File("permissions.md:18".into()), "what denies is named");
    assert_eq!(sections.matrix.source(&Action::ForcePush), RuleSource::BuiltIn);
    assert_eq!(without_places(sections.matrix), without_places(matter.matrix));
    let row = sections.rules.iter().find(|it| it.action == Action::NetworkAccess).expect("a row");
    assert_eq!(row.origin.to_string(), "permissions.md:18");
}

fn without_places(matrix: Matrix) -> Matrix {
    Matrix { places: [].into(), ..matrix }
}

/// The repository is not trusted: it can only tighten, and entries that would loosen are reported.
#[test]
fn a_workspace_only_tightens() {
    let loosened = workspace(&file(
        "## Auto-Approve\n- command_execution\n- force_push\n## Ask User\n- delete_main_branch\n\
         ## Limits\n- subtasks_total: 99\n- permission_default: approve\n\
         - auto_approve_for_subtasks: true\n- subtasks_parallel: 2\n",
    ));
    let mut expected = Matrix::builtin();
    expected.limits.subtasks_parallel = 2;
    assert_eq!(loosened.matrix, expected);
    assert!(loosened.errors.is_empty());
    let ignored =
        loosened.ignored.iter().map(|it| format!("{}: {}: {}\n", it.origin, it.what, it.reason));
    expect![[r#"
        permissions.md:8: delete_main_branch: ask_user: another layer denies it
        permissions.md:6: force_push: auto_approve: another layer denies it
        permissions.md:5: command_execution: auto_approve: a repository file may only tighten permissions: it is ask_user
        permissions.md:10: subtasks_total: 99: a repository file may only tighten permissions: it is 10
        permissions.md:11: permission_default: approve: a repository file may only tighten permissions: it is deny
        permissions.md:12: auto_approve_for_subtasks: true: a repository file may only tighten permissions: it is false
    "#]].assert_eq(&ignored.collect::<String>());
}

/// Only the user can loosen rules, and no layer can lift a denial.
#[test]
fn a_user_loosens_rules_but_cannot_lift_a_denial() {
    let sources = PermissionSources {
        workspace: Some(text("permissions.md", &file("## Auto-Deny\n- network_access\n"))),
        user: Some(text(
            "mine.md",
            &file(
                "## Auto-Approve\n- command_execution\n- network_access\n- force_push\n## Limits\n\
             - subtasks_total: 50\n- permission_default: approve\n- permission_timeout: 1h\n",
            ),
        )),
        settings: PermissionEntries::default(),
    };
    let merged = Permissions::load(&sources);
    assert_eq!(merged.matrix.rule(&Action::CommandExecution), Rule::AutoApprove);
    assert_eq!(merged.matrix.rule(&Action::NetworkAccess), Rule::AutoDeny);
    assert_eq!(merged.matrix.rule(&Action::ForcePush), Rule::AutoDeny);
    assert_eq!(merged.matrix.limits.subtasks_total, 50);
    assert_eq!(merged.matrix.limits.permission_default, Verdict::Approve);
    assert_eq!(merged.ignored.len(), 2, "{:?}", merged.ignored);
}

#[test]
fn a_workspace_cannot_shorten_the_wait_before_default_approval() {
    let sources = PermissionSources {
        workspace: Some(text("permissions.md", &file("## Limits\n- permission_timeout: 1s\n"))),
        user: Some(text("mine.md", &file("## Limits\n- permission_default: approve\n"))),
        settings: PermissionEntries::default(),
    };
    let merged = Permissions::load(&sources);
    assert_eq!(merged.matrix.limits.permission_timeout_ms, None);
    assert_eq!(merged.ignored.len(), 1);
}

/// S4-063: a broken file is reported and the built-in rules apply; nothing is loosened meanwhile.
#[test]
fn a_broken_file_leaves_the_built_in_rules() {
    for broken in ["", "version: 1", "---\nversion: 1\n", "---\nversion: 2\n---\n", "\u{0}\u{1b}"] {
        let found = workspace(broken);
        assert_eq!(found.matrix, Matrix::builtin(), "{broken:?}");
        assert!(!found.errors.is_empty(), "{broken:?}");
    }
    let sources = PermissionSources {
        workspace: Some(text("permissions.md", "## Auto-Deny\n- pr_creation\n")),
        user: Some(text(
            "mine.md",
            &file("## Auto-Approve\n- command_execution\n## Auto-Deny\n- git_push\n"),
        )),
        settings: PermissionEntries::default(),
    };
    let merged = Permissions::load(&sources);
    assert_eq!(merged.matrix.rule(&Action::CommandExecution), Rule::AskUser);
    assert_eq!(merged.matrix.rule(&Action::GitPush), Rule::AutoDeny);
    let unreadable = PermissionText { file: "x.md".into(), text: Err("it is a folder".into()) };
    let sources = PermissionSources { workspace: Some(unreadable), ..PermissionSources::default() };
    let merged = Permissions::load(&sources);
    assert_eq!(merged.matrix, Matrix::builtin());
    assert!(merged.errors[0].to_string().contains("it is a folder"), "{:?}", merged.errors);
}

fn check_problems(text: &str, expected: &Expect) {
    let found = workspace(text);
    let all = found.errors.iter().chain(&found.warnings);
    let shown: Vec<String> = all.map(ToString::to_string).collect();
    expected.assert_eq(&shown.join("\n\n"));
}

/// S4-063: every mistake is reported with its line and a fix.
#[test]
fn a_mistake_is_reported_with_its_line() {
    check_problems(
        &file(
            "## Auto-Denny\n- force_push\n## Auto-Deny\nforce_push\n- a/b\n## Limits\n\
             - subtask_total: 3\n- subtasks_total: many\n- permission_timeout: soon\n",
        ),
        &expect![[r#"
            permissions.md:4:4: error: unknown section `Auto-Denny`
             4 | ## Auto-Denny
               |    ^^^^^^^^^^
            help: did you mean `Auto-Deny`?

            permissions.md:7:1: error: expected a bullet
             7 | force_push
               | ^^^^^^^^^^
            help: begin it with `- `, or move it before the first section, under `## Notes`, or into a comment `<!-- ... -->`

            permissions.md:8:3: error: `a/b` is not an action name
             8 | - a/b
               |   ^^^
            help: an action is written like `branch_merge`; an explanation may follow ` - `

            permissions.md:10:3: error: unknown limit `subtask_total`
             10 | - subtask_total: 3
                |   ^^^^^^^^^^^^^
            help: did you mean `subtasks_total`?

            permissions.md:11:19: error: `subtasks_total` cannot be `many`
             11 | - subtasks_total: many
                |                   ^^^^
            help: write a whole number from 0 to 1000

            permissions.md:12:23: error: `permission_timeout` is invalid: `soon` is not a duration
             12 | - permission_timeout: soon
                |                       ^^^^
            help: write a number with a unit, such as "30s", "10min" or "1h30min", or whole seconds, or `never`"#]],
    );
    check_problems(
        "---\nversion: 1\nauto_deni: [x]\nlimits: 3\nask_user: x\n---\n",
        &expect![[r#"
        permissions.md:3:1: error: unknown key `auto_deni` in the front matter
         3 | auto_deni: [x]
           | ^^^^^^^^^
        help: did you mean `auto_deny`?

        permissions.md:4:9: error: `limits` must be a map
         4 | limits: 3
           |         ^
        help: write each limit on an indented line of its own below `limits:`

        permissions.md:5:11: error: `x` is not a list
         5 | ask_user: x
           |           ^
        help: write `[a, b]`, or each on a line of its own that begins with `- `"#]],
    );
}

/// S4-062, S4-063: an unknown action asks the user, with a warning.
#[test]
fn an_unknown_action_asks_and_warns() {
    let text =
        file("## Auto-Approve\n- comand_execution\n- git_operations\n## Auto-Deny\n- levitate\n");
    check_problems(
        &text,
        &expect![[r#"
        permissions.md:5:3: warning: unknown action `comand_execution`
         5 | - comand_execution
           |   ^^^^^^^^^^^^^^^^
        help: did you mean `command_execution`?

        permissions.md:6:3: warning: unknown action `git_operations`
         6 | - git_operations
           |   ^^^^^^^^^^^^^^
        help: it is a category; list its actions instead: branch_merge, git_push, worktree_cleanup, delete_main_branch, force_push

        permissions.md:8:3: warning: unknown action `levitate`
         8 | - levitate
           |   ^^^^^^^^
        help: possible values: file_edits_in_worktree, file_creation_in_worktree, file_deletion_in_worktree, access_outside_worktree, edits_outside_worktree, subtask_spawning, agent_reassignment, plan_execution, model_switch_same_tier, model_switch_expensive, branch_merge, git_push, worktree_cleanup, delete_main_branch, force_push, pr_creation, command_execution, opaque_command, network_access, other_tool"#]],
    );
    let found = user(&text);
    assert_eq!(found.matrix.rule(&Action::CommandExecution), Rule::AskUser);
    let levitate = Action::Other("levitate".into());
    assert_eq!(found.matrix.rule(&levitate), Rule::AutoDeny, "stricter is always possible");
    assert_eq!(found.ignored.len(), 2, "{:?}", found.ignored);
}

#[test]
fn the_strictest_of_several_rules_applies() {
    let found = user(&file("## Auto-Deny\n- git_push\n## Auto-Approve\n- git_push\n- push\n"));
    assert_eq!(found.matrix.rule(&Action::GitPush), Rule::AutoDeny);
}

fn settings(text: &str, trust: Trust) -> Result<Permissions, String> {
    let layer = Some(LayerText { file: "config.toml".into(), text: text.into(), trust });
    let sources = match trust {
        Trust::Person => Sources { user: layer, ..Sources::default() },
        Trust::Repository => Sources { repository: layer, ..Sources::default() },
    };
    let (settings, _) = Settings::load(&sources).map_err(|it| it.to_string())?;
    let settings = settings.permissions;
    Ok(Permissions::load(&PermissionSources { settings, ..PermissionSources::default() }))
}

/// S4-052, S4-139: the settings are equivalent to a user's file.
#[test]
fn the_users_settings_can_contain_permissions() {
    let text = "[permissions]\nauto_approve = ['command_execution', 'nonsense']\nauto_deny = 'git_push'\n[permissions.limits]\nsubtasks_total = 4\nauto_approve_for_subtasks = true\npermission_timeout = '1h'\n";
    let found = settings(text, Trust::Person).expect("settings");
    assert_eq!(found.matrix.rule(&Action::CommandExecution), Rule::AutoApprove);
    assert_eq!(found.matrix.rule(&Action::GitPush), Rule::AutoDeny);
    assert_eq!(found.matrix.limits.subtasks_total, 4);
    assert!(found.matrix.limits.auto_approve_for_subtasks);
    assert!(found.warnings[0].to_string().starts_with("config.toml:2:"), "{:?}", found.warnings);
    assert!(settings(text, Trust::Repository).expect_err("foreign").contains("permissions.md"));
    for wrong in [
        "permissions = 3",
        "[permissions]\nask = []",
        "[permissions.limits]\nx = 1",
        "[permissions.limits]\nsubtasks_total = -1",
    ] {
        assert!(settings(wrong, Trust::Person).is_err(), "{wrong}");
    }
}

#[test]
fn finds_the_permissions_files() {
    let home = tempfile::tempdir().expect("a folder");
    let environment = BTreeMap::from([("HOME".to_owned(), home.path().display().to_string())]);
    let dirs = Dirs::from_env(&environment, 1_000).expect("folders");
    let root = home.path().join("repository");
    let read = || read_permissions(&dirs, &root, &PermissionEntries::default());
    assert_eq!(read(), PermissionSources::default());
    let write = |path: &Path, bytes: &[u8]| {
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, bytes).expect("a file");
    };
    write(&root.join(".github/agents/orchestrator/permissions.md"), SECTIONS.as_bytes());
    write(&dirs.config.join("permissions.md"), b"\xff\xfe");
    let found = read();
    assert_eq!(found.workspace.expect("it is there").text.as_deref(), Ok(SECTIONS));
    assert!(found.user.expect("it is there").text.is_err());
}

/// Every example of the grammar in the reference loads.
#[test]
fn every_file_in_the_reference_loads() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/permissions.md");
    let document = fs::read_to_string(path).expect("the reference");
    for (language, count) in [("markdown", 1), ("yaml", 1)] {
        let opening = format!("```{language}\n");
        let blocks = document.split(&opening).skip(1);
        let blocks: Vec<&str> = blocks.filter_map(|it| it.split("```").next()).collect();
        assert_eq!(blocks.len(), count);
        for block in blocks {
            let found = user(block);
            assert!(found.errors.is_empty() && found.warnings.is_empty(), "{:?}", found.errors);
            assert_eq!(found.matrix.rule(&Action::NetworkAccess), Rule::AutoDeny);
        }
    }
    let toml = document.split("```toml\n").nth(1).and_then(|it| it.split("```").next());
    let found = settings(toml.expect("settings"), Trust::Person).expect("it loads");
    assert_eq!(found.matrix.rule(&Action::CommandExecution), Rule::AutoApprove);
    for action in Action::NAMED {
        assert!(document.contains(&format!("`{action}`")), "{action} is not documented");
    }
    for key in pitcrew_config::LIMIT_KEYS {
        assert!(document.contains(&format!("| `{key}` |")), "{key} is not documented");
    }
}

fn check(text: &str) {
    for found in [workspace(text), user(text)] {
        for it in found.errors.iter().chain(&found.warnings) {
            assert!(it.span.start <= it.span.end && it.span.end <= text.len(), "{it:?}");
            assert!(it.line >= 1 && it.line <= text.matches('\n').count() + 1, "{it:?}");
            assert!(!it.to_string().is_empty());
        }
        let denied = |it: &&Action| it.builtin_rule() == Rule::AutoDeny;
        for action in Action::NAMED.iter().filter(denied) {
            assert_eq!(found.matrix.rule(action), Rule::AutoDeny, "a denial is lifted");
        }
        if !found.errors.is_empty() {
            assert_eq!(found.matrix, Matrix::builtin());
        }
    }
    let found = workspace(text);
    for action in Action::NAMED {
        assert!(found.matrix.rule(action) >= action.builtin_rule(), "{action} is loosened");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_panics_or_loosens(text in "\\PC{0,200}") {
        check(&text);
        check(&file(&text));
    }

    #[test]
    fn no_lines_panic_or_loosen(
        lines in prop::collection::vec(prop_oneof![
            Just("---".to_owned()), Just("version: 1".to_owned()), Just("## Auto-Approve".to_owned()),
            Just("## Limits".to_owned()), Just("limits:".to_owned()), Just("<!--".to_owned()),
            Just("- force_push".to_owned()), Just("- command_execution".to_owned()),
            Just("auto_approve: [force_push, 'git_push', \"x\"]".to_owned()), Just("  - x".to_owned()),
            Just("- permission_timeout: 1s".to_owned()), "[-*#: \\[\\]'\"`a-z_日]{0,12}",
        ], 0..20),
    ) {
        check(&lines.join("\n"));
        check(&file(&lines.join("\r\n")));
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check(&String::from_utf8_lossy(&bytes));
    }
}
