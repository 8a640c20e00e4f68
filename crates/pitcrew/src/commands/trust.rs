//! Trusts the agent definitions that come with the repository, by their content.

use super::CommandResult;
use crate::{
    ask::{Confirmation, Person},
    cli::TrustArgs,
    crew,
    exit::Exit,
    output::Output,
    render::plural,
    report::Report,
    workspace::Workspace,
};
use pitcrew_config::{TrustStore, UntrustedDefinition};
use pitcrew_model::Capability;
use pitcrew_views::plain;
use serde_json::{Value, json};

pub async fn run(args: TrustArgs, output: Output) -> CommandResult {
    let workspace = Workspace::here()?;
    let found = crew::definitions(&workspace.user, workspace.root());
    for error in &found.errors {
        output.note(&plain::block(error));
    }
    if args.output.json {
        let rows: Vec<Value> = found.untrusted.iter().map(as_json).collect();
        output.json(&json!({ "untrusted": rows }))?;
        return Ok(if rows.is_empty() { Exit::Success } else { Exit::Untrusted });
    }
    if found.untrusted.is_empty() {
        output.line("everything that this repository adds is trusted")?;
        return Ok(Exit::Success);
    }
    if args.yes {
        return trust_all(&workspace, &found.untrusted, output).map(|()| Exit::Success);
    }
    if !output.can_ask {
        for it in &found.untrusted {
            output.print(&describe(it))?;
        }
        output.note("to trust these files as they are now, run `pitcrew trust --yes`");
        return Ok(Exit::Untrusted);
    }
    match ask(&workspace, &found.untrusted, output, &mut Person::listen()?).await? {
        Confirmation::Yes => Ok(Exit::Success),
        Confirmation::No => Ok(Exit::Untrusted),
        Confirmation::Interrupted => Ok(Exit::Interrupted),
    }
}

/// Shows each definition and asks about it. `Yes`: all of them are trusted now.
pub async fn ask(
    workspace: &Workspace,
    untrusted: &[UntrustedDefinition],
    output: Output,
    person: &mut Person,
) -> Result<Confirmation, Report> {
    let mut all = Confirmation::Yes;
    for it in untrusted {
        output.note(&describe(it));
        let question = format!("Trust this definition of `{}`? [y/N]", it.profile.name);
        let answer = person.confirm(output, &question).await;
        let mut store = store(workspace)?;
        match answer {
            Confirmation::Yes => store.trust(&it.digest, &it.path),
            Confirmation::No => {
                store.decline(&it.digest, &it.path);
                all = Confirmation::No;
            }
            Confirmation::Interrupted => return Ok(Confirmation::Interrupted),
        }
        save(&store)?;
    }
    Ok(all)
}

/// Trusts all of them without a question.
pub fn trust_all(
    workspace: &Workspace,
    untrusted: &[UntrustedDefinition],
    output: Output,
) -> Result<(), Report> {
    let mut store = store(workspace)?;
    for it in untrusted {
        store.trust(&it.digest, &it.path);
        output.note(&format!("trusted {}", plain::line(&it.path)));
    }
    save(&store)
}

fn store(workspace: &Workspace) -> Result<TrustStore, Report> {
    TrustStore::read(&workspace.user).map_err(|error| Report::from_error(Exit::Failure, &error))
}

fn save(store: &TrustStore) -> Result<(), Report> {
    store.save().map_err(|error| Report::from_error(Exit::Failure, &error))
}

/// Everything that the definition adds. The role is a prompt, so all of it is shown.
fn describe(it: &UntrustedDefinition) -> String {
    let UntrustedDefinition { path, profile, is_declined, .. } = it;
    let declined = if *is_declined { " (declined before)" } else { "" };
    let tools = profile.tools.as_ref().map(|it| {
        let capabilities = it.capabilities.iter().map(Capability::to_string);
        capabilities.chain(it.names.iter().cloned()).collect::<Vec<_>>().join(", ")
    });
    let rows = [
        ("description", Some(profile.description.clone())),
        ("backend", profile.backend.clone()),
        ("models", Some(profile.models.join(", ")).filter(|it| !it.is_empty())),
        ("tools", Some(tools.unwrap_or_else(|| "all".into()))),
        ("role", Some(plural(profile.role.lines().count() as u64, "line"))),
    ];
    let head = format!("{}: agent `{}`{declined}", plain::line(path), profile.name);
    let rows = rows
        .into_iter()
        .filter_map(|(what, value)| Some(format!("  {what:<12} {}", plain::line(&value?))));
    let role = plain::block(&profile.role);
    let role = role.lines().map(|it| format!("    | {it}"));
    let lines: Vec<String> = [head].into_iter().chain(rows).chain(role).collect();
    lines.join("\n") + "\n"
}

fn as_json(it: &UntrustedDefinition) -> Value {
    json!({
        "path": it.path,
        "digest": it.digest,
        "declined": it.is_declined,
        "agent": it.profile,
    })
}
