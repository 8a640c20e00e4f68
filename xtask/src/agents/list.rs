//! The list of agents and their folder.

use crate::program::{Failure, root};
use std::{env, fs, path::PathBuf};

pub const LIST: &str = "crates/pitcrew-testkit/agents.txt";
/// Third-party programs for testing our interfaces, in the same format.
const PEERS: &str = "crates/pitcrew-testkit/peers.txt";

/// What is installed, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shelf {
    Agents,
    Peers,
}

impl Shelf {
    /// The variable that overrides the folder.
    fn variable(self) -> &'static str {
        match self {
            Self::Agents => "PITCREW_AGENTS",
            Self::Peers => "PITCREW_PEERS",
        }
    }

    fn below_cache(self) -> &'static str {
        match self {
            Self::Agents => "pitcrew/agents",
            Self::Peers => "pitcrew/peers",
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub struct Agent {
    pub name: String,
    pub source: Source,
    pub package: String,
    pub version: String,
    pub program: String,
    pub purpose: Use,
}

/// The source of its package.
#[derive(Debug, PartialEq, Eq)]
pub enum Source {
    Npm {
        /// Must be run after the package is installed.
        script: Option<String>,
    },
    PyPi {
        /// A package whose pinned version may be overridden.
        loosened: Option<String>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    InTests,
    ByHand,
}

impl Agent {
    /// The folder of its programs, below its own.
    pub fn programs(&self) -> &'static str {
        match self.source {
            Source::Npm { .. } => "node_modules/.bin",
            Source::PyPi { .. } => "venv/bin",
        }
    }
}

pub fn folder(shelf: Shelf) -> Result<PathBuf, Failure> {
    let set = |name: &str| env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    let cache = || set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    set(shelf.variable())
        .or_else(|| Some(cache()?.join(shelf.below_cache())))
        .ok_or_else(|| Failure(format!("neither {} nor HOME is set", shelf.variable())))
}

pub fn listed() -> Result<Vec<Agent>, Failure> {
    read(LIST)
}

pub fn peers() -> Result<Vec<Agent>, Failure> {
    read(PEERS)
}

fn read(list: &str) -> Result<Vec<Agent>, Failure> {
    let path = root().join(list);
    let text = fs::read_to_string(&path)
        .map_err(|error| Failure(format!("failed to read `{}`: {error}", path.display())))?;
    parse(&text)
}

fn parse(text: &str) -> Result<Vec<Agent>, Failure> {
    let mut purpose = Use::InTests;
    let mut agents = Vec::new();
    for line in text.lines().filter(|it| !it.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (named, last) = match words[..] {
            [] => {
                purpose = Use::ByHand;
                continue;
            }
            [name, package, version, program] => ([name, package, version, program], None),
            [name, package, version, program, last] => {
                ([name, package, version, program], Some(last.to_owned()))
            }
            _ => return Err(Failure(format!("invalid line in {LIST}: {line}"))),
        };
        let [name, package, version, program] = named.map(str::to_owned);
        let (source, package) = match package.strip_prefix("pypi:") {
            Some(package) => (Source::PyPi { loosened: last }, package.to_owned()),
            None => (Source::Npm { script: last }, package),
        };
        agents.push(Agent { name, source, package, version, program, purpose });
    }
    Ok(agents)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_agents_parses() {
        let agents = listed().expect("a list");
        let in_tests = agents.iter().filter(|it| it.purpose == Use::InTests);
        let in_tests: Vec<&str> = in_tests.map(|it| it.name.as_str()).collect();
        assert_eq!(in_tests, ["goose", "claude", "codex"]);
        let has = |source: fn(&Source) -> bool| agents.iter().any(|it| source(&it.source));
        assert!(has(|it| matches!(it, Source::Npm { script: Some(_) })));
        assert!(has(|it| matches!(it, Source::PyPi { loosened: Some(_) })));
        let failure = parse("goose 1").expect_err("fields are missing");
        assert!(failure.to_string().contains("goose 1"), "{failure}");
        let peers = peers().expect("a list");
        assert!(peers.iter().any(|it| it.name == "inspector" && it.purpose == Use::InTests));
    }
}
