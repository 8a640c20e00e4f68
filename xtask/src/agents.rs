//! Installs the real agents that tests run, in a folder that outlives the build.
//!
//! Packages come from wherever this machine's npm takes them. Nothing is written but the folder of
//! the agents and npm's own cache.

use crate::program::{Failure, command, root};
use std::{
    env, fs,
    path::{Path, PathBuf},
};

const LIST: &str = "crates/pitcrew-testkit/agents.txt";
/// Says where the agents are, for machines that keep caches elsewhere.
const FOLDER: &str = "PITCREW_AGENTS";

#[derive(Debug, PartialEq, Eq)]
struct Agent {
    name: String,
    package: String,
    version: String,
    program: String,
    script: Option<String>,
    purpose: Use,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    InTests,
    ByHand,
}

pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let agents = listed()?;
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let chosen: Vec<&Agent> = match arguments[..] {
        ["install"] => agents.iter().filter(|it| it.purpose == Use::InTests).collect(),
        ["install", "--all"] => agents.iter().collect(),
        ["install", ..] => {
            let find = |name: &&str| {
                let found = agents.iter().find(|it| it.name == *name);
                found.ok_or_else(|| Failure(format!("{LIST} has no agent `{name}`")))
            };
            arguments[1..].iter().map(find).collect::<Result<_, _>>()?
        }
        _ => return Err(Failure("say `agents install`, with names or `--all`".into())),
    };
    install(&chosen)
}

/// Installs what the tests need. Says loudly what it could not: the tests for it are then skipped.
pub fn install_for_tests() {
    let installed = listed().and_then(|agents| {
        install(&agents.iter().filter(|it| it.purpose == Use::InTests).collect::<Vec<_>>())
    });
    if let Err(failure) = installed {
        println!("WARNING real agents are missing, and their tests will be skipped: {failure}");
    }
}

fn install(agents: &[&Agent]) -> Result<(), Failure> {
    let folder = folder()?;
    let mut failures = Vec::new();
    for agent in agents {
        let place = folder.join(format!("{}-{}", agent.name, agent.version));
        let result = if place.join("node_modules/.bin").join(&agent.program).exists() {
            Ok("is there")
        } else {
            install_one(agent, &place).map(|()| "was installed")
        };
        match result {
            Ok(done) => println!("{} {} {done}: {}", agent.name, agent.version, place.display()),
            Err(failure) => failures.push(format!("{} {}: {failure}", agent.name, agent.version)),
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(Failure(failures.join("\n"))) }
}

/// Installs beside the place and moves it there when it is complete.
fn install_one(agent: &Agent, place: &Path) -> Result<(), Failure> {
    let told = |what: &str, error: &dyn std::fmt::Display| Failure(format!("{what}: {error}"));
    let fresh = place.with_extension(format!("new-{}", std::process::id()));
    fs::create_dir_all(&fresh).map_err(|it| told("its folder cannot be made", &it))?;
    let result = fill(agent, &fresh);
    // Another run may have been quicker: its copy is as good.
    let moved = result.and_then(|()| match fs::rename(&fresh, place) {
        Err(error) if !place.exists() => Err(told("it cannot be moved to its place", &error)),
        Ok(()) | Err(_) => Ok(()),
    });
    fs::remove_dir_all(&fresh).ok();
    moved
}

fn fill(agent: &Agent, folder: &Path) -> Result<(), Failure> {
    fs::write(folder.join("package.json"), "{\"private\": true}\n")
        .map_err(|it| Failure(format!("its folder cannot be written: {it}")))?;
    let package = format!("{}@{}", agent.package, agent.version);
    let quiet = ["--ignore-scripts", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"];
    let arguments = [&["install", package.as_str()][..], &quiet].concat();
    println!("$ npm {}", arguments.join(" "));
    succeed("npm", &arguments, folder)?;
    if let Some(script) = &agent.script {
        succeed("node", &[&format!("node_modules/{script}")], folder)?;
    }
    if folder.join("node_modules/.bin").join(&agent.program).exists() {
        Ok(())
    } else {
        Err(Failure(format!("{package} has no program `{}`", agent.program)))
    }
}

fn succeed(program: &str, arguments: &[&str], folder: &Path) -> Result<(), Failure> {
    let status = command(program, arguments).current_dir(folder).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure(format!("`{program}` ended with {status}"))),
        Err(error) => Err(Failure(format!(
            "`{program}` cannot be started ({error}); install Node.js 20 or newer"
        ))),
    }
}

fn folder() -> Result<PathBuf, Failure> {
    let set = |name: &str| env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    let cache = || set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    set(FOLDER)
        .or_else(|| Some(cache()?.join("pitcrew/agents")))
        .ok_or_else(|| Failure(format!("neither {FOLDER} nor HOME is set")))
}

fn listed() -> Result<Vec<Agent>, Failure> {
    let path = root().join(LIST);
    let text = fs::read_to_string(&path)
        .map_err(|error| Failure(format!("`{}` cannot be read: {error}", path.display())))?;
    parse(&text)
}

fn parse(text: &str) -> Result<Vec<Agent>, Failure> {
    let mut purpose = Use::InTests;
    let mut agents = Vec::new();
    for line in text.lines().filter(|it| !it.starts_with('#')) {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        match &words[..] {
            [] => purpose = Use::ByHand,
            [name, package, version, program, rest @ ..] if rest.len() <= 1 => agents.push(Agent {
                name: name.clone(),
                package: package.clone(),
                version: version.clone(),
                program: program.clone(),
                script: rest.first().cloned(),
                purpose,
            }),
            _ => return Err(Failure(format!("{LIST} has a line that is no agent: {line}"))),
        }
    }
    Ok(agents)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_agents_can_be_read() {
        let agents = listed().expect("a list");
        let in_tests = agents.iter().filter(|it| it.purpose == Use::InTests);
        assert_eq!(in_tests.map(|it| it.name.as_str()).collect::<Vec<_>>(), ["goose", "claude"]);
        assert!(agents.iter().any(|it| it.script.is_some()));
        let failure = parse("goose 1").expect_err("words are missing");
        assert!(failure.to_string().contains("no agent: goose 1"), "{failure}");
    }
}
