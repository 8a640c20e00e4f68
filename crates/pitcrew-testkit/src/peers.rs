//! Third-party programs for testing our interfaces.

use std::{env, path::PathBuf};

/// The peers and versions that `cargo xtask test` installs.
const LIST: &str = include_str!("../peers.txt");

/// The program of a peer, and the folder of the interpreter that it needs on its path; the error
/// names what is missing.
pub fn peer(name: &str) -> Result<(PathBuf, PathBuf), String> {
    let interpreter = program("node")?;
    let folder = interpreter.parent().map(PathBuf::from).unwrap_or_default();
    Ok((program(name)?, folder))
}

fn program(name: &str) -> Result<PathBuf, String> {
    let lines = LIST.lines().filter(|it| !it.starts_with('#'));
    let mut words = lines.map(|it| it.split_whitespace().collect::<Vec<_>>());
    let line = words.find(|it| it.first() == Some(&name)).unwrap_or_default();
    let [name, _, version, program] = line[..] else {
        return Err(format!("the list of peers has no `{name}`"));
    };
    let set = |name: &str| env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    let cache = || set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    let shelf = set("PITCREW_PEERS").or_else(|| Some(cache()?.join("pitcrew/peers")));
    let shelf = shelf.ok_or("neither PITCREW_PEERS nor HOME is set")?;
    let path = shelf.join(format!("{name}-{version}")).join("node_modules/.bin").join(program);
    if path.exists() {
        Ok(path)
    } else {
        Err(format!("{} is missing: `cargo xtask test` installs it", path.display()))
    }
}
