//! Shows which agents this machine has, what is known about one, and tries one.

mod test;

use super::Done;
use crate::{
    backends::{Chosen, Login, Looked, choose, look, versions},
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

pub async fn run(args: BackendsArgs, output: Output) -> Done {
    if let Some(BackendsCommands::Test(args)) = args.command {
        return test::run(args, output).await;
    }
    let (settings, origins) = settings_here()?;
    let mut looked = look(&settings);
    let chosen = choose(&settings, &looked);
    if let Some(name) = &args.name {
        let one = find(&looked, name)?.clone();
        return show_one(&one, &settings, &origins, (args.output.json, output));
    }
    looked.sort_by_key(|it| (!it.is_ready(), it.found().is_none(), it.name.clone()));
    let versions = versions(&looked);
    let version = |it: &Looked| versions.get(&it.name).cloned();
    let model = settings.model.as_ref().map(ModelSettings::title);
    let is_builtin = chosen.agent().is_some_and(|it| *it == AgentRef::backend(BACKEND_BUILTIN));
    if args.output.json {
        let builtin = json!({ "model": model, "default": is_builtin });
        let list = looked.iter().map(|it| as_json(it, versions.get(&it.name), &chosen));
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
        model.map_or_else(|| "no model is set".into(), |it| format!("model {}", printable(&it)));
    table.row([
        format!("{mark} builtin"),
        "part of pitcrew".into(),
        String::new(),
        model,
        String::new(),
    ]);
    for it in &looked {
        table.row(row(it, version(it), &chosen, output));
    }
    for line in table.lines("") {
        output.line(&line)?;
    }
    output.note(&ending(&chosen));
    Ok(Exit::Success)
}

/// The backend of this name, or an error that suggests one.
fn find<'a>(looked: &'a [Looked], name: &str) -> Result<&'a Looked, Report> {
    looked.iter().find(|it| it.name == name).ok_or_else(|| {
        let names: Vec<&str> = looked.iter().map(|it| it.name.as_str()).collect();
        let help = format!("{} or add it: docs/backends.md", suggestion(name, &names));
        Report::new(Exit::Usage, format!("there is no backend `{name}`")).help(help)
    })
}

fn is_default(it: &Looked, chosen: &Chosen) -> bool {
    chosen.agent().is_some_and(|agent| agent.backend.as_deref() == Some(&it.name))
}

fn row(it: &Looked, version: Option<String>, chosen: &Chosen, output: Output) -> [String; 5] {
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
                Login::NoSign => (style.yellow(&it.login_words()), style.dim(&it.login_help())),
                Login::Found(_) => (style.green(&it.login_words()), String::new()),
                Login::Unknown => (it.login_words(), String::new()),
            };
            [name, it.place(), version, login, help]
        }
    }
}

/// What the mark means, or how to get one.
fn ending(chosen: &Chosen) -> String {
    match chosen {
        Chosen::Set(agent) => {
            format!("* does the tasks that name no agent: your settings say `{agent}`")
        }
        Chosen::Only(agent) => {
            format!("* does the tasks that name no agent: `{agent}` is the only one that is ready")
        }
        Chosen::Nobody { help } => format!("nobody does a task that names no agent: {help}"),
    }
}

fn as_json(it: &Looked, version: Option<&String>, chosen: &Chosen) -> Value {
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

/// Everything about one, with the place of what was not as it came.
fn show_one(
    it: &Looked,
    settings: &Settings,
    origins: &Origins,
    (as_json_wanted, output): (bool, Output),
) -> Done {
    let version = versions(std::slice::from_ref(it)).remove(&it.name);
    let chosen = choose(settings, &look(settings));
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
    table.row(["login".into(), printable(&format!("{}{help}", it.login_words()))]);
    for line in table.lines("") {
        output.line(&line)?;
    }
    output.line("")?;
    // Some values are long: what is behind them has no column of its own.
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
