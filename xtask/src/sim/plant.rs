//! Plants one bug at a time in a copy of the sources, and checks that the simulator finds it.

use super::mutants::{MUTANTS, Mutant};
use crate::program::{self, Failure};
use std::{
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

/// A bug that is not found within this many seeds counts as not caught.
const SEEDS_MAX: &str = "10000";

/// The files that the copy needs to build.
const PARTS: &[&str] = &["Cargo.toml", "Cargo.lock", "rust-toolchain.toml", "crates", "xtask"];

/// Most bugs are found immediately; building takes the time.
const QUICK: &[&str] = &[
    "--config=profile.dev.debug=false",
    "--config=profile.dev.package.pitcrew-kernel.opt-level=1",
    "--config=profile.dev.package.pitcrew-sim.opt-level=1",
];

/// The result for one planted bug.
enum Verdict {
    Caught {
        seed: String,
        invariant: String,
    },
    Survived,
    /// The table is out of date.
    Unbuilt {
        words: String,
    },
}

/// Tries the named ones, or all.
pub fn try_all(names: &[&str]) -> Result<(), Failure> {
    if let Some(name) = names.iter().find(|name| !MUTANTS.iter().any(|it| it.name == **name)) {
        return Err(Failure(format!("unknown mutant `{name}`")));
    }
    let wanted = |it: &&Mutant| names.is_empty() || names.contains(&it.name);
    let chosen: Vec<&Mutant> = MUTANTS.iter().filter(wanted).collect();
    for mutant in &chosen {
        let source = read(&program::root().join(mutant.file))?;
        mutant.apply(&source)?;
    }
    let folder = program::root().join("target/mutants");
    let tree = folder.join("tree");
    let mut survivors = Vec::new();
    for mutant in chosen {
        let began = Instant::now();
        restore(&tree)?;
        let file = tree.join(mutant.file);
        write(&file, &mutant.apply(&read(&file)?)?)?;
        let verdict = hunt(&tree, &folder.join("build"))?;
        if !matches!(verdict, Verdict::Caught { .. }) {
            survivors.push(mutant.name);
        }
        let told = match verdict {
            Verdict::Caught { seed, invariant } => format!("seed {seed:>5}  {invariant}"),
            Verdict::Unbuilt { words } => format!("DOES NOT BUILD:\n{words}"),
            Verdict::Survived => format!("NOT CAUGHT: {}", mutant.bug),
        };
        println!("{:<44}{told}  ({:.0} s)", mutant.name, began.elapsed().as_secs_f64());
    }
    restore(&tree)?;
    if survivors.is_empty() {
        return Ok(());
    }
    Err(Failure(format!("not caught within {SEEDS_MAX} seeds: {}", survivors.join(", "))))
}

/// Makes the copy equal to the sources, without touching equal files.
fn restore(tree: &Path) -> Result<(), Failure> {
    for part in PARTS {
        copy(&program::root().join(part), &tree.join(part))?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    if from.is_dir() {
        for entry in fs::read_dir(from).map_err(|error| failure("read", from, &error))? {
            let name = entry.map_err(|error| failure("read", from, &error))?.file_name();
            copy(&from.join(&name), &to.join(&name))?;
        }
        return Ok(());
    }
    let wanted = fs::read(from).map_err(|error| failure("read", from, &error))?;
    if fs::read(to).ok().as_ref() == Some(&wanted) {
        return Ok(());
    }
    let folder = to.parent().expect("a file is in a folder");
    fs::create_dir_all(folder).map_err(|error| failure("create", folder, &error))?;
    fs::write(to, wanted).map_err(|error| failure("write", to, &error))
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| failure("read", path, &error))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| failure("write", path, &error))
}

fn failure(verb: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure(format!("cannot {verb} `{}`: {error}", path.display()))
}

fn hunt(tree: &Path, build: &PathBuf) -> Result<Verdict, Failure> {
    let arguments = ["build", "--quiet", "--package", "pitcrew-sim"];
    let arguments = [&arguments[..], QUICK].concat();
    let built = program::command(program::cargo(), &arguments)
        .current_dir(tree)
        .env("CARGO_TARGET_DIR", build)
        .output()
        .map_err(|error| Failure(format!("failed to start cargo: {error}")))?;
    if !built.status.success() {
        let words = String::from_utf8_lossy(&built.stderr).into_owned();
        return Ok(Verdict::Unbuilt { words });
    }
    // A bug with an endless loop would take all memory, so it is limited.
    let simulator = build.join("debug/pitcrew-sim");
    let bounded = "ulimit -v 4000000; exec \"$0\" \"$@\"";
    let simulator = simulator.to_string_lossy();
    let run =
        program::command("sh", &["-c", bounded, &simulator, "--schedules", SEEDS_MAX, "--brief"])
            .output()
            .map_err(|error| Failure(format!("failed to start the simulator: {error}")))?;
    let said = String::from_utf8_lossy(&run.stdout).into_owned();
    let mut words = said.trim().splitn(3, '\t').map(str::to_owned);
    match (run.status.success(), words.next(), words.next()) {
        (true, _, _) => Ok(Verdict::Survived),
        (false, Some(seed), Some(invariant)) => {
            let detail = words.next().unwrap_or_default();
            // A failed assertion of the product is reported with its message.
            let told = if invariant == PANIC { detail } else { invariant };
            let invariant = told.lines().next().unwrap_or_default().to_owned();
            Ok(Verdict::Caught { seed, invariant })
        }
        (false, _, _) => Err(Failure(format!("the simulator failed: {}", run.status))),
    }
}

const PANIC: &str = "the product does not panic";

impl Mutant {
    /// The source with the bug. If the text is missing or not unique, the table is out of date.
    fn apply(&self, source: &str) -> Result<String, Failure> {
        let (name, file) = (self.name, self.file);
        match source.matches(self.find).count() {
            1 => Ok(source.replacen(self.find, self.replace, 1)),
            count => Err(Failure(format!(
                "the mutant `{name}` is stale: {file} has its text {count} times, not once"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mutant_matches_exactly_once() {
        for mutant in MUTANTS {
            let source = read(&program::root().join(mutant.file)).expect(mutant.file);
            let changed = mutant.apply(&source).unwrap_or_else(|failure| panic!("{failure}"));
            assert_ne!(changed, source, "{}", mutant.name);
        }
        assert!(MUTANTS.len() >= 24, "{} mutants", MUTANTS.len());
    }

    #[test]
    fn a_stale_mutant_is_reported() {
        let mutant =
            Mutant { name: "gone", file: "lib.rs", find: "old", replace: "new", bug: "none" };
        let failure = mutant.apply("nothing").expect_err("it is stale");
        assert_eq!(
            failure.to_string(),
            "the mutant `gone` is stale: lib.rs has its text 0 times, not once"
        );
        assert!(mutant.apply("old old").is_err());
        assert_eq!(mutant.apply("an old one"), Ok("an new one".into()));
    }
}
