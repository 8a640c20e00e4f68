//! Installs agents into a folder that outlives the build.
//!
//! Packages come from the registries that this machine's npm and pip are configured with. Writes
//! only the folder of the agents and the caches of npm and pip.

use super::list::{Agent, Shelf, Source, Use, folder, listed, peers};
use crate::program::{Failure, command};
use std::{env, fs, path::Path, process::Stdio};

/// Installs what the tests need. Prints what failed: those tests are skipped.
pub fn install_for_tests() {
    let installed = listed().and_then(|agents| {
        install(&agents.iter().filter(|it| it.purpose == Use::InTests).collect::<Vec<_>>())
    });
    if let Err(failure) = installed {
        println!("WARNING real agents are missing, and their tests will be skipped: {failure}");
    }
    let installed = peers().and_then(|it| install_on(Shelf::Peers, &it.iter().collect::<Vec<_>>()));
    if let Err(failure) = installed {
        println!("WARNING peers are missing, and their tests will be skipped: {failure}");
    }
}

pub fn install(agents: &[&Agent]) -> Result<(), Failure> {
    install_on(Shelf::Agents, agents)
}

fn install_on(shelf: Shelf, agents: &[&Agent]) -> Result<(), Failure> {
    let folder = folder(shelf)?;
    let mut failures = Vec::new();
    for agent in agents {
        let place = folder.join(format!("{}-{}", agent.name, agent.version));
        let result = if place.join(agent.programs()).join(&agent.program).exists() {
            Ok("is installed")
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

/// Installs into a temporary folder, which is moved when it is complete.
fn install_one(agent: &Agent, place: &Path) -> Result<(), Failure> {
    let failure = |what: &str, error: &dyn std::fmt::Display| Failure(format!("{what}: {error}"));
    let fresh = place.with_extension(format!("new-{}", std::process::id()));
    fs::create_dir_all(&fresh).map_err(|it| failure("failed to create its folder", &it))?;
    let result = fill(agent, &fresh);
    // Another run may have been faster: its copy is as good.
    let moved = result.and_then(|()| match fs::rename(&fresh, place) {
        Err(error) if !place.exists() => Err(failure("failed to move it to its place", &error)),
        Ok(()) | Err(_) => Ok(()),
    });
    fs::remove_dir_all(&fresh).ok();
    moved
}

fn fill(agent: &Agent, folder: &Path) -> Result<(), Failure> {
    match &agent.source {
        Source::Npm { script } => from_npm(agent, script.as_deref(), folder)?,
        Source::PyPi { loosened } => from_pypi(agent, loosened.as_deref(), folder)?,
    }
    if folder.join(agent.programs()).join(&agent.program).exists() {
        Ok(())
    } else {
        Err(Failure(format!("{} contains no program `{}`", agent.package, agent.program)))
    }
}

fn from_npm(agent: &Agent, script: Option<&str>, folder: &Path) -> Result<(), Failure> {
    write(&folder.join("package.json"), "{\"private\": true}\n")?;
    let package = format!("{}@{}", agent.package, agent.version);
    let quiet = ["--ignore-scripts", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"];
    let remedy = "install Node.js 20 or newer";
    succeed("npm", &[&["install", package.as_str()][..], &quiet].concat(), folder, remedy)?;
    match script {
        Some(script) => succeed("node", &[&format!("node_modules/{script}")], folder, remedy),
        None => Ok(()),
    }
}

/// Uses `uv`, which can override a pin and creates folders that can be moved.
fn from_pypi(agent: &Agent, loosened: Option<&str>, folder: &Path) -> Result<(), Failure> {
    let python = python()?;
    let remedy = "install Python with venv and pip";
    succeed(&python, &["-m", "venv", "tool"], folder, remedy)?;
    let path = |name: &str| folder.join(name).display().to_string();
    succeed(&path("tool/bin/pip"), &["install", "--quiet", "uv"], folder, remedy)?;
    let uv = path("tool/bin/uv");
    let make = ["venv", "--quiet", "--relocatable", "--python", python.as_str(), "venv"];
    succeed(&uv, &make, folder, remedy)?;
    write(&folder.join("loosened.txt"), loosened.unwrap_or_default())?;
    let package = format!("{}=={}", agent.package, agent.version);
    let add = ["pip", "install", "--quiet", "--python", "venv/bin/python"];
    let overrides = ["--override", "loosened.txt", package.as_str()];
    succeed(&uv, &[&add[..], &overrides].concat(), folder, remedy)?;
    fs::remove_dir_all(folder.join("tool"))
        .map_err(|it| Failure(format!("failed to write to its folder: {it}")))
}

/// The interpreter itself: the one on the path may be a wrapper.
fn python() -> Result<String, Failure> {
    let asks = "import sys; assert sys.version_info >= (3, 12); print(sys.executable)";
    let versions = env::home_dir().map(|it| it.join(".pyenv/versions"));
    let kept = versions.and_then(|it| fs::read_dir(it).ok()).into_iter().flatten().flatten();
    let kept = kept.map(|it| it.path().join("bin/python3").display().to_string());
    let known = ["python3", "python3.14", "python3.13", "python3.12"].map(str::to_owned);
    let answer = |it: String| command(it, &["-c", asks]).stderr(Stdio::null()).output().ok();
    let found = known.into_iter().chain(kept).filter_map(answer).find(|it| it.status.success());
    let found = found.ok_or_else(|| Failure("install Python 3.12 or newer".into()))?;
    Ok(String::from_utf8_lossy(&found.stdout).trim().to_owned())
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|it| Failure(format!("failed to write to its folder: {it}")))
}

fn succeed(program: &str, words: &[&str], folder: &Path, remedy: &str) -> Result<(), Failure> {
    println!("$ {program} {}", words.join(" "));
    match command(program, words).current_dir(folder).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure(format!("`{program}` failed: {status}"))),
        Err(error) => Err(Failure(format!("failed to start `{program}` ({error}); {remedy}"))),
    }
}
