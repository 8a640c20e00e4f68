//! Files that make others execute code by being there: git attributes, hooks, pipelines, agent and
//! editor configuration.

use super::disguise;
use pitcrew_model::Zone;

/// Files, wherever they are.
const FILES: [&str; 17] = [
    ".gitattributes",
    ".gitmodules",
    ".gitconfig",
    ".lfsconfig",
    ".mcp.json",
    ".goosehints",
    ".worktreeinclude",
    ".envrc",
    ".gitlab-ci.yml",
    ".travis.yml",
    ".drone.yml",
    ".woodpecker.yml",
    ".appveyor.yml",
    ".cirrus.yml",
    ".pre-commit-config.yaml",
    ".lefthook.yml",
    ".overcommit.yml",
];
/// Files without a dot, wherever they are.
const PLAIN_FILES: [&str; 5] = [
    "jenkinsfile",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    "appveyor.yml",
    "lefthook.yml",
];
/// Folders, wherever they are, with everything in them.
const FOLDERS: [&str; 17] = [
    ".claude",
    ".codex",
    ".gemini",
    ".opencode",
    ".goose",
    ".cursor",
    ".pitcrew",
    ".husky",
    ".githooks",
    ".vscode",
    ".idea",
    ".devcontainer",
    ".circleci",
    ".buildkite",
    ".woodpecker",
    ".gitlab",
    ".semaphore",
];
/// Folders in the folder of a forge.
const FORGES: [&str; 3] = [".github", ".gitea", ".forgejo"];
const FORGE_FOLDERS: [&str; 2] = ["workflows", "actions"];

pub(super) fn is(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    let last = parts.last().copied().unwrap_or_default();
    FILES.iter().any(|it| disguise::is(last, it))
        || PLAIN_FILES.iter().any(|it| last.eq_ignore_ascii_case(it))
        || parts.iter().any(|part| FOLDERS.iter().any(|it| disguise::is(part, it)))
        || parts.windows(2).any(|pair| is_pipeline(pair[0], pair[1]))
}

fn is_pipeline(outer: &str, inner: &str) -> bool {
    FORGES.iter().any(|it| disguise::is(outer, it))
        && FORGE_FOLDERS
            .iter()
            .any(|it| inner.trim_end_matches(['.', ' ']).eq_ignore_ascii_case(it))
}

/// Whether the region names the path itself, or a folder around it that is no less special.
pub(super) fn is_granted(path: &str, zone: &Zone) -> bool {
    zone.region.iter().any(|it| !it.is_root() && it.contains(path) && is(it.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitcrew_model::RepoPath;

    #[test]
    fn files_that_execute_are_known() {
        for path in [
            ".gitattributes",
            "src/.gitattributes",
            "a/.GITMODULES",
            ".github/workflows/ci.yml",
            ".github/actions/x/action.yml",
            ".claude/settings.json",
            "sub/.claude/agents/a.md",
            ".mcp.json",
            ".husky/pre-commit",
            ".githooks/x",
            "Jenkinsfile",
            ".vscode/tasks.json",
            ".GitHub/Workflows/x.yml",
            ".worktreeinclude",
        ] {
            assert!(is(path), "{path}");
        }
        for path in [".gitignore", ".github/CODEOWNERS", "src/claude/x", "docs/actions/a", "a.rs"] {
            assert!(!is(path), "{path}");
        }
    }

    #[test]
    fn only_a_region_that_names_it_grants_it() {
        let zone = |text: &str| Zone {
            region: vec![RepoPath::parse_prefix(text).expect("a path")],
            ..Zone::default()
        };
        assert!(is_granted(".github/workflows/ci.yml", &zone(".github/workflows/ci.yml")));
        assert!(is_granted(".github/workflows/ci.yml", &zone(".github/workflows")));
        assert!(is_granted("src/.gitattributes", &zone("src/.gitattributes")));
        assert!(!is_granted(".github/workflows/ci.yml", &zone(".github")));
        assert!(!is_granted("src/.gitattributes", &zone("src")));
        assert!(!is_granted(".gitattributes", &Zone::default()));
    }
}
