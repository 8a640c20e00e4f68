//! Shows the effective settings and where they are set.

use super::CommandResult;
use crate::{
    cli::{ConfigCommands, ConfigShowArgs},
    exit::Exit,
    output::Output,
    render::{Align, Table},
    workspace::Workspace,
};
use pitcrew_config::printable;
use serde_json::{Value, json};

pub fn run(command: ConfigCommands, output: Output) -> CommandResult {
    match command {
        ConfigCommands::Show(args) => show(&args, output),
    }
}

fn show(args: &ConfigShowArgs, output: Output) -> CommandResult {
    let (settings, origins) = Workspace::here()?.settings()?;
    let rows = origins.rows(&settings);
    if args.output.json {
        let settings: Vec<Value> = rows
            .iter()
            .map(|(key, value, origin)| {
                let layer = origin.layer.to_string();
                json!({ "key": key, "value": value, "layer": layer, "origin": origin.to_string() })
            })
            .collect();
        let ignored: Vec<Value> = origins
            .ignored
            .iter()
            .map(|it| {
                let origin = it.origin.to_string();
                json!({ "key": it.key, "value": it.value, "origin": origin, "reason": it.reason })
            })
            .collect();
        output.json(&json!({ "settings": settings, "ignored": ignored }))?;
        return Ok(Exit::Success);
    }
    let mut table = Table::new(&[Align::Left, Align::Left, Align::Left]);
    for (key, value, origin) in &rows {
        let origin = if args.origin { format!("# {origin}") } else { String::new() };
        let origin = output.out.dim(&printable(&origin));
        table.row([printable(key), format!("= {}", printable(value)), origin]);
    }
    for line in table.lines("") {
        output.line(&line)?;
    }
    for it in &origins.ignored {
        let (key, value, origin, reason) = (&it.key, &it.value, &it.origin, &it.reason);
        let note = format!("note: `{key} = {value}` at {origin} is ignored: {reason}");
        output.note(&printable(&note));
    }
    Ok(Exit::Success)
}
