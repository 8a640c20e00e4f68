//! Files that builds execute and agents obey. Tasks change them often, so the gate lets them in,
//! but a reviewer should look at them first.

use crate::folded_name;
use alloc::string::String;

/// Names in lower case. `*` at the start matches a suffix, at the end a prefix.
const NAMES: &[&str] = &[
    "cargo.toml",
    "build.rs",
    "rust-toolchain",
    "rust-toolchain.toml",
    "package.json",
    "pnpm-workspace.yaml",
    "deno.json",
    "deno.jsonc",
    "*.config.js",
    "*.config.cjs",
    "*.config.mjs",
    "*.config.ts",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "conftest.py",
    "noxfile.py",
    "tox.ini",
    "requirements*",
    "go.mod",
    "go.work",
    "makefile",
    "gnumakefile",
    "*.mk",
    "cmakelists.txt",
    "*.cmake",
    "meson.build",
    "build",
    "build.bazel",
    "module.bazel",
    "workspace",
    "workspace.bazel",
    "*.bzl",
    "justfile",
    "taskfile.yml",
    "taskfile.yaml",
    "earthfile",
    "procfile",
    "rakefile",
    "gemfile",
    "*.gemspec",
    "pom.xml",
    "build.xml",
    "build.sbt",
    "*.gradle",
    "*.gradle.kts",
    "gradle.properties",
    "gradlew*",
    "mvnw*",
    "*.csproj",
    "*.fsproj",
    "directory.build.*",
    "composer.json",
    "mix.exs",
    "pubspec.yaml",
    "package.swift",
    "podfile",
    "dune-project",
    "*.cabal",
    "stack.yaml",
    "build.zig",
    "flake.nix",
    "default.nix",
    "shell.nix",
    "dockerfile*",
    "containerfile",
    "docker-compose*",
    "compose.yml",
    "compose.yaml",
    "vagrantfile",
    "agents.md",
    "claude.md",
    "gemini.md",
    "qwen.md",
];

/// Returns whether builds execute the file, or agents take it for instructions.
pub fn is_manifest(path: &str) -> bool {
    let name: String = folded_name(path.rsplit('/').next().unwrap_or(path));
    NAMES.iter().any(|it| match (it.strip_prefix('*'), it.strip_suffix('*')) {
        (Some(end), _) => name.ends_with(end),
        (None, Some(start)) => name.starts_with(start),
        (None, None) => name == *it,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_and_agent_files_are_recognised() {
        for path in [
            "Cargo.toml",
            "crates/a/build.rs",
            "ui/package.json",
            "Makefile",
            "a.mk",
            "vite.config.ts",
            "requirements-dev.txt",
            "Dockerfile.dev",
            "app/build.gradle.kts",
            "AGENTS.md",
            "docs/CLAUDE.md",
        ] {
            assert!(is_manifest(path), "{path}");
        }
        for path in ["src/main.rs", "README.md", "Cargo.toml/x", "building.rs", "package.json.md"] {
            assert!(!is_manifest(path), "{path}");
        }
    }
}
