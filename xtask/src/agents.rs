//! The real agents: installs and tries them.

mod list;
mod install;
mod tried;

use crate::program::Failure;
use list::{Agent, LIST, Use, listed};

pub use install::install_for_tests;

pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let agents = listed()?;
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["install"] => {
            let needed: Vec<_> = agents.iter().filter(|it| it.purpose == Use::InTests).collect();
            install::install(&needed)
        }
        ["install", "--all"] => install::install(&agents.iter().collect::<Vec<_>>()),
        ["install", ..] => install::install(&named(&agents, &arguments[1..])?),
        ["--all"] => tried::all(&agents),
        ["--table"] => tried::table(),
        [_, ..] => tried::some(&named(&agents, &arguments)?),
        [] => Err(Failure("usage: `agents install NAME...` or `--all`; `agents NAME...` or `--all` to try them; `agents --table`".into())),
    }
}

fn named<'a>(agents: &'a [Agent], names: &[&str]) -> Result<Vec<&'a Agent>, Failure> {
    let find = |name: &&str| {
        let found = agents.iter().find(|it| it.name == *name);
        found.ok_or_else(|| Failure(format!("{LIST} has no agent `{name}`")))
    };
    names.iter().map(find).collect()
}
