//! Files whose presence makes other programs execute code: git attributes, hooks, CI pipelines,
//! agent and editor configuration.
//!
//! New tools bring new names, and most of them begin with a dot. So every name with a leading dot
//! counts unless it is known to be harmless. Tables list the other names.

use super::disguise;
use pitcrew_model::{Zone, folded_name};

/// Names with a leading dot whose content no program executes.
const HARMLESS: [&str; 25] = [
    ".gitignore",
    ".gitkeep",
    ".keep",
    ".ignore",
    ".rgignore",
    ".hgignore",
    ".dockerignore",
    ".npmignore",
    ".eslintignore",
    ".prettierignore",
    ".stylelintignore",
    ".bazelignore",
    ".helmignore",
    ".gcloudignore",
    ".vercelignore",
    ".git-blame-ignore-revs",
    ".mailmap",
    ".editorconfig",
    ".clang-format",
    ".rustfmt.toml",
    ".yamllint",
    ".markdownlint.json",
    ".env.example",
    ".nojekyll",
    ".well-known",
];

const PIPELINE: &str = "a CI system executes it";
const HOOKS: &str = "a hook manager executes it";
const EDITOR: &str = "an editor executes it";
const PACKAGES: &str = "a package manager executes it";
const AGENTS: &str = "an agent reads its settings from it";

/// Git takes a folder with this file, `objects` and `refs` for a repository, and the settings in it
/// name programs that `git status` and shell prompts run.
const HEAD: &str = "head";

/// Names without a leading dot, and folders inside a folder with a leading dot, at any depth. A `*`
/// matches any part of a name.
const KNOWN: &[(&str, &str)] = &[
    (".github/workflows", PIPELINE),
    (".github/actions", PIPELINE),
    (".github/hooks", AGENTS),
    (".github/agents", AGENTS),
    (".gitea/workflows", PIPELINE),
    (".gitea/actions", PIPELINE),
    (".forgejo/workflows", PIPELINE),
    (".forgejo/actions", PIPELINE),
    ("jenkinsfile*", PIPELINE),
    ("*.jenkinsfile", PIPELINE),
    ("azure-pipelines*.yml", PIPELINE),
    ("azure-pipelines*.yaml", PIPELINE),
    ("bitbucket-pipelines.yml", PIPELINE),
    ("bitbucket-pipelines.yaml", PIPELINE),
    ("appveyor.yml", PIPELINE),
    ("appveyor.yaml", PIPELINE),
    ("buildspec.yml", PIPELINE),
    ("buildspec.yaml", PIPELINE),
    ("cloudbuild.yml", PIPELINE),
    ("cloudbuild.yaml", PIPELINE),
    ("cloudbuild.json", PIPELINE),
    ("codefresh.yml", PIPELINE),
    ("wercker.yml", PIPELINE),
    ("circle.yml", PIPELINE),
    ("bamboo-specs", PIPELINE),
    ("netlify.toml", PIPELINE),
    ("vercel.json", PIPELINE),
    ("render.yaml", PIPELINE),
    ("action.yml", PIPELINE),
    ("action.yaml", PIPELINE),
    ("amplify.yml", PIPELINE),
    ("appspec.yml", PIPELINE),
    ("atlantis.yaml", PIPELINE),
    ("bitrise.yml", PIPELINE),
    ("codemagic.yaml", PIPELINE),
    ("codeship-steps.yml", PIPELINE),
    ("codeship-services.yml", PIPELINE),
    ("dangerfile*", PIPELINE),
    ("heroku.yml", PIPELINE),
    ("screwdriver.yaml", PIPELINE),
    ("shippable.yml", PIPELINE),
    ("zuul.yaml", PIPELINE),
    ("zuul.d", PIPELINE),
    ("lefthook.*", HOOKS),
    ("lefthook-local.*", HOOKS),
    ("captainhook.json", HOOKS),
    ("grumphp.yml", HOOKS),
    ("prek.toml", HOOKS),
    ("simple-git-hooks.*", HOOKS),
    ("hk.pkl", HOOKS),
    ("rusty-hook.toml", HOOKS),
    ("githooks", HOOKS),
    ("git-hooks", HOOKS),
    ("*.code-workspace", EDITOR),
    ("*.sublime-project", EDITOR),
    ("mise.toml", PACKAGES),
    ("mise.*.toml", PACKAGES),
    ("mise/config.toml", PACKAGES),
    ("bunfig.toml", PACKAGES),
    ("devbox.json", PACKAGES),
    ("devenv.nix", PACKAGES),
    ("devenv.yaml", PACKAGES),
    ("poetry.toml", PACKAGES),
    ("uv.toml", PACKAGES),
    ("pdm.toml", PACKAGES),
    ("aqua.yaml", PACKAGES),
    ("mcp.json", AGENTS),
    ("crush.json", AGENTS),
    ("kilo.json", AGENTS),
    ("fastagent.config.yaml", AGENTS),
];

/// Why a path is special.
pub(super) struct Special<'a> {
    path: &'a str,
    /// The path up to the part that makes it special.
    place: &'a str,
    reason: String,
}

impl Special<'_> {
    /// Whether the zone names the special folder or file, or a path below it. Naming a parent
    /// folder is not enough, because it covers many other files too.
    pub(super) fn is_granted(&self, zone: &Zone) -> bool {
        let mut rules = zone.region.iter().chain(&zone.shared);
        rules.any(|it| it.contains(self.path) && it.as_str().len() >= self.place.len())
    }

    /// The rule, and how to allow the path.
    pub(super) fn rule(&self) -> String {
        format!("{}; a task whose `region` names `{}` may change it", self.reason, self.place)
    }
}

/// The configuration files of each backend, by backend name. They may be anywhere in a repository.
pub(crate) type ConfigFiles = Vec<(String, Vec<String>)>;

/// The innermost part of the path that makes other programs execute code.
pub(super) fn special<'a>(path: &'a str, config: &ConfigFiles) -> Option<Special<'a>> {
    let mut ends: Vec<usize> = path.match_indices('/').map(|it| it.0).collect();
    ends.push(path.len());
    let parts: Vec<String> = path.split('/').map(folded_name).collect();
    if parts.last().is_some_and(|it| it == HEAD) {
        let reason = "git takes the folder of a file `HEAD` for a repository".to_owned();
        return Some(Special { path, place: path, reason });
    }
    ends.into_iter().enumerate().rev().find_map(|(index, end)| {
        let place = &path[..end];
        let name = place.rsplit('/').next().unwrap_or(place);
        let reason = reason(name, &parts[..=index], config)?;
        Some(Special { path, place, reason })
    })
}

/// The reason why a folder or file is special. `parts` are the folded parts of its path, ending
/// with its name.
fn reason(name: &str, parts: &[String], config: &ConfigFiles) -> Option<String> {
    for (backend, files) in config {
        if files.iter().any(|it| ends_with(parts, it)) {
            return Some(format!("`{name}` configures {backend}"));
        }
    }
    if let Some((_, reason)) = KNOWN.iter().find(|it| ends_with(parts, it.0)) {
        return Some(format!("`{name}`: {reason}"));
    }
    let folded = parts.last()?;
    // A name that consists only of dots folds to an empty string.
    let has_dot = folded.starts_with('.') || folded.is_empty();
    if has_dot && !HARMLESS.contains(&folded.as_str()) {
        return Some(format!("`{name}` begins with a dot and is not known to be harmless"));
    }
    disguise::is_short_form(name).then(|| format!("`{name}` stands for another name on Windows"))
}

/// Whether the path ends with these names.
fn ends_with(parts: &[String], names: &str) -> bool {
    let mut own = parts.iter().rev();
    names.trim_matches('/').rsplit('/').all(|it| own.next().is_some_and(|own| fits(own, it)))
}

/// Whether a folded name matches a table entry, in which `*` matches any text.
fn fits(name: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        Some((start, end)) => {
            let rest = name.strip_prefix(start);
            rest.is_some_and(|it| it.ends_with(end))
        }
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitcrew_model::RepoPath;

    fn config() -> ConfigFiles {
        vec![("opencode".into(), vec!["opencode.json".into(), "agents/own".into()])]
    }

    fn zone(text: &str) -> Zone {
        Zone { region: vec![RepoPath::parse_prefix(text).expect("a path")], ..Zone::default() }
    }

    #[test]
    fn files_that_execute_are_detected() {
        for path in [
            ".gitattributes",
            "src/.gitattributes",
            "docs/x/HEAD",
            "docs/x/Head",
            "action.yml",
            "Dangerfile.df.kts",
            "a/.GITMODULES",
            "a/GITATT~1",
            ".github/workflows/ci.yml",
            ".github/agents/a.md",
            ".github/hooks/a.json",
            ".GitHub/Workflows/x.yml",
            ".github/CODEOWNERS",
            ".claude/settings.json",
            "sub/.claude/agents/a.md",
            ".qwen/settings.json",
            ".vibe/config.toml",
            ".copilot/a",
            ".mcp.json",
            ".husky/pre-commit",
            ".githooks/x",
            "githooks/pre-push",
            "Jenkinsfile",
            "ci/Jenkinsfile.release",
            ".vscode/tasks.json",
            ".zed/tasks.json",
            "shop.code-workspace",
            ".worktreeinclude",
            ".cargo/config.toml",
            ".yarnrc.yml",
            ".npmrc",
            ".pnpmfile.cjs",
            ".mise.toml",
            "mise.toml",
            "mise.local.toml",
            "app/mise/config.toml",
            ".envrc",
            ".env",
            ".tool-versions",
            "lefthook.toml",
            "lefthook.yaml",
            "lefthook-local.yml",
            ".woodpecker.yaml",
            ".gitlab-ci.yaml",
            "azure-pipelines.yaml",
            "azure-pipelines-nightly.yml",
            "opencode.json",
            "app/OpenCode.json",
            "agents/own/x",
            ".never-seen-before",
            "a/.\u{200b}never/x",
            "\u{200b}.cargo/config.toml",
        ] {
            assert!(special(path, &config()).is_some(), "{path}");
        }
    }

    #[test]
    fn other_files_are_not_special() {
        for path in [
            ".gitignore",
            "src/.gitkeep",
            ".editorconfig",
            "site/.well-known/security.txt",
            "src/claude/x",
            "docs/actions/a",
            "agents/a",
            "own/x",
            "a.rs",
            "jenkins.md",
            "Cargo.toml",
            "package.json",
            "Makefile",
            "AGENTS.md",
            "my-opencode.json",
        ] {
            let found = special(path, &config()).map(|it| it.reason);
            assert_eq!(found, None, "{path}");
        }
    }

    #[test]
    fn only_a_zone_that_names_the_path_grants_it() {
        let is_granted =
            |path, zone: &Zone| special(path, &config()).expect("a special path").is_granted(zone);
        for (path, rule) in [
            (".github/workflows/ci.yml", ".github/workflows/ci.yml"),
            (".github/workflows/ci.yml", ".github/workflows"),
            (".github/CODEOWNERS", ".github"),
            ("src/.gitattributes", "src/.gitattributes"),
            (".cargo/config.toml", ".cargo"),
            (".cargo/config.toml", ".cargo/config.toml"),
            ("lefthook.toml", "lefthook.toml"),
            ("opencode.json", "opencode.json"),
        ] {
            assert!(is_granted(path, &zone(rule)), "{path} by {rule}");
            let shared = Zone { shared: zone(rule).region, ..zone("src") };
            assert!(is_granted(path, &shared), "{path} by shared {rule}");
        }
        for (path, rule) in [
            (".github/workflows/ci.yml", ".github"),
            (".github/workflows/ci.yml", "."),
            ("src/.gitattributes", "src"),
            (".claude/.mcp.json", ".claude"),
            (".cargo/other.toml", ".cargo/config.toml"),
            ("app/opencode.json", "app"),
        ] {
            assert!(!is_granted(path, &zone(rule)), "{path} by {rule}");
        }
        assert!(!is_granted(".gitattributes", &Zone::default()));
    }

    #[test]
    fn rule_explains_how_to_allow_the_path() {
        let rule = |path| special(path, &config()).expect("a special path").rule();
        assert_eq!(
            rule("app/.cargo/config.toml"),
            "`.cargo` begins with a dot and is not known to be harmless; a task whose `region` names \
             `app/.cargo` may change it"
        );
        assert_eq!(
            rule("opencode.json"),
            "`opencode.json` configures opencode; a task whose `region` names `opencode.json` may change it"
        );
    }
}
