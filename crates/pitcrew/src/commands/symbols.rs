//! Lists the symbols that a file defines.

use super::{
    CommandResult,
    query::{parsers, symbol_as_json, within},
};
use crate::{cli::SymbolsArgs, exit::Exit, output::Output, report::Report, workspace::Workspace};
use pitcrew_symbols::{Language, Outline, Skipped, outline};
use pitcrew_views::plain;
use serde_json::{Value, json};

pub fn run(args: &SymbolsArgs, output: Output) -> CommandResult {
    let workspace = Workspace::here()?;
    let path = within(workspace.root(), &args.file);
    let parser = parsers()?;
    let found = path.as_ref().and_then(|it| outline(workspace.root(), it, &parser));
    let (Some(path), Some(found)) = (path, found) else {
        let message = format!("there is no file `{}` in this repository", args.file.display());
        return Err(Report::new(Exit::Usage, message).help(
            "give the path of a regular file; links and other repositories are not followed",
        ));
    };
    if args.output.json {
        output.json(&as_json(&path, &found))?;
    } else {
        output.print(&plain::block(&found.text))?;
    }
    Ok(Exit::Success)
}

fn as_json(path: &str, found: &Outline) -> Value {
    let symbols: Vec<Value> = found.symbols.iter().map(symbol_as_json).collect();
    json!({
        "path": path,
        "language": found.language.map(Language::name),
        "symbols": symbols,
        "skipped": found.skipped.map(Skipped::word),
    })
}
