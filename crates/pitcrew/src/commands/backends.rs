//! Lists the agents of this machine, shows one, or tests them.

mod test;

use super::CommandResult;
use crate::{
    backends::{BackendStatus, DefaultAgent, Login, default_agent, inspect_backends, versions},
    cli::{BackendsArgs, BackendsCommands},
    exit::Exit,
    output::Output,
    render::{Align, Table},
    report::Report,
    workspace::settings_here,
};
use pitcrew_config::{
    BACKEND_BUILTIN, LoginEvidence, ModelSettings, Origins, Settings, printable, suggestion,
};
use pitcrew_model::AgentRef;
use serde_json::{Value, json};

pub async fn run(args: BackendsArgs, output: Output) -> CommandResult {
    if let Some(BackendsCommands::Test(args)) = args.command {
        return test::run(args, output).await;
    }
    let (settings, origins) = settings_here()?;
    let mut backends = inspect_backends(&settings);
    let chosen = default_agent(&settings, &backends);
    if let Some(name) = &args.name {
        let one = find(&backends, name)?.clone();
        return show_one(&one, &settings, &origins, (args.output.json, output));
    }
    backends.sort_by_key(|it| (!it.is_ready(), it.found().is_none(), it.name.clone()));
    let versions = versions(&backends);
    let version = |it: &BackendStatus| versions.get(&it.name).cloned();
    let model = settings.model.as_ref().map(ModelSettings::title);
    let is_builtin = chosen.agent().is_some_and(|it| *it == AgentRef::backend(BACKEND_BUILTIN));
    if args.output.json {
        let builtin = json!({ "model": model, "default": is_builtin });
        let list = backends.iter().map(|it| as_json(it, versions.get(&it.name), &chosen));
        let list: Vec<Value> = list.collect();
        let agent = chosen.agent().map(ToString::to_string);
        output.json(&json!({ "default": agent, "builtin": builtin, "backends": list }))?;
        return Ok(Exit::Success);
    }
    let mut table = Table::new(&[Align::Left; 5]);
    let head = ["  backend", "program", "version", "login", ""];
    table.row(head.map(|it| output.out.dim(it)));
    let mark = if is_builtin { "*" } else { " " };
    let model =
        model.map_or_else(|| "no model set".into(), |it| format!("model {}", printable(&it)));
    table.row([format!("{mark} builtin"), "built in".into(), String::new(), model, String::new()]);
    for it in &backends {
        table.row(row(it, version(it), &chosen, output));
    }
    for line in table.lines("") {
        output.line(&line)?;
    }
    output.note(&ending(&chosen));
    Ok(Exit::Success)
}

/// Finds a backend by name, or fails with a suggestion.
fn find<'a>(backends: &'a [BackendStatus], name: &str) -> Result<&'a BackendStatus, Report> {
    backends.iter().find(|it| it.name == name).ok_or_else(|| {
        let names: Vec<&str> = backends.iter().map(|it| it.name.as_str()).collect();
        let help =
            format!("{}; docs/backends.md describes how to add one", suggestion(name, &names));
        Report::new(Exit::Usage, format!("there is no backend `{name}`")).help(help)
    })
}

fn is_default(it: &BackendStatus, chosen: &DefaultAgent) -> bool {
    chosen.agent().is_some_and(|agent| agent.backend.as_deref() == Some(&it.name))
}

fn row(
    it: &BackendStatus,
    version: Option<String>,
    chosen: &DefaultAgent,
    output: Output,
) -> [String; 5] {
    let style = output.out;
    let mark = if is_default(it, chosen) { "*" } else { " " };
    let name = format!("{mark} {}", it.name);
    match it.missing() {
        Some((_, help)) => {
            [name, style.yellow(&it.place()), String::new(), String::new(), style.dim(&help)]
        }
        None => {
            let version = version.unwrap_or_else(|| "?".into());
            let (login, help) = match it.login {
                Login::NoSign => (style.yellow(&it.login_text()), style.dim(&it.login_help())),
                Login::Found(_) => (style.green(&it.login_text()), String::new()),
                Login::Unknown => (it.login_text(), String::new()),
            };
            [name, it.place(), version, login, help]
        }
    }
}

/// Explains the mark of the default agent, or how to choose one.
fn ending(chosen: &DefaultAgent) -> String {
    match chosen {
        DefaultAgent::Set(agent) => {
            format!("* is the default agent: your settings choose `{agent}`")
        }
        DefaultAgent::Only(agent) => {
            format!("* is the default agent: `{agent}` is the only one that is ready")
        }
        DefaultAgent::Unavailable { help } => format!("there is no default agent: {help}"),
    }
}

fn as_json(it: &BackendStatus, version: Option<&String>, chosen: &DefaultAgent) -> Value {
    let (login, how) = match &it.login {
        Login::Found(LoginEvidence::Variable(name)) => ("yes", Some(name.clone())),
        Login::Found(LoginEvidence::File(path)) => ("yes", Some(path.display().to_string())),
        Login::NoSign => ("no", None),
        Login::Unknown => ("unknown", None),
    };
    let missing = it.missing();
    json!({
        "name": it.name,
        "title": it.backend.title_or(&it.name),
        "command": it.backend.command,
        "path": it.found().map(|it| it.path.display().to_string()),
        "on_path": it.found().is_some_and(|it| it.on_path),
        "version": version,
        "login": { "found": login, "by": how, "help": it.backend.login },
        "ready": it.is_ready(),
        "default": is_default(it, chosen),
        "missing": missing.as_ref().map(|it| &it.0),
        "install": it.backend.install,
    })
}

/// Shows one backend, with the origin of each setting.
fn show_one(
    it: &BackendStatus,
    settings: &Settings,
    origins: &Origins,
    (as_json_wanted, output): (bool, Output),
) -> CommandResult {
    let version = versions(std::slice::from_ref(it)).remove(&it.name);
    let chosen = default_agent(settings, &inspect_backends(settings));
    let prefix = format!("backends.{}", it.name);
    let origin = |key: &str| {
        let key = if key == "command" { prefix.clone() } else { format!("{prefix}.{key}") };
        origins.get(&key).map_or_else(|| "default".into(), ToString::to_string)
    };
    if as_json_wanted {
        let mut value = as_json(it, version.as_ref(), &chosen);
        let keys = it.backend.shown().into_iter();
        let keys =
            keys.map(|(key, shown)| json!({ "key": key, "value": shown, "origin": origin(key) }));
        value["keys"] = keys.collect();
        output.json(&value)?;
        return Ok(Exit::Success);
    }
    let mut table = Table::new(&[Align::Left, Align::Left]);
    let title = it.backend.title_or(&it.name);
    table.row([output.out.bold(&it.name), printable(title)]);
    match it.missing() {
        Some((reason, help)) => {
            table.row(["program".into(), output.out.yellow(&reason)]);
            table.row([String::new(), help]);
        }
        None => table.row(["program".into(), it.place()]),
    }
    table.row(["version".into(), version.unwrap_or_else(|| "?".into())]);
    let help =
        if it.login == Login::NoSign { format!("; {}", it.login_help()) } else { String::new() };
    table.row(["login".into(), printable(&format!("{}{help}", it.login_text()))]);
    for line in table.lines("") {
        output.line(&line)?;
    }
    output.line("")?;
    // Some values are long, so the origin has no separate column.
    let mut table = Table::new(&[Align::Left, Align::Left]);
    for (key, value) in it.backend.shown() {
        let origin = output.out.dim(&format!("# {}", printable(&origin(key))));
        table.row([key.into(), format!("= {}  {origin}", printable(&value))]);
    }
    for line in table.lines("") {
        output.line(&line)?;
    }
    Ok(Exit::Success)
}
