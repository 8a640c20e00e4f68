//! Shows and edits permissions, and revokes grants.

mod edit;

use super::{CommandResult, reply};
use crate::{
    cli::{PermissionsArgs, PermissionsCommands, RevokeArgs},
    client::Client,
    exit::Exit,
    output::Output,
    render::{Align, Table},
    report::Report,
    workspace::Workspace,
};
use pitcrew_api::paths;
use pitcrew_config::{Diagnostic, Layer, Origin, Permissions, printable};
use pitcrew_model::{Action, Command, Grant, GrantId, Rule};
use pitcrew_views::{ActiveGrant, PermissionsView, plain};
use serde_json::{Value, json};

pub async fn run(args: PermissionsArgs, output: Output) -> CommandResult {
    match args.command {
        Some(PermissionsCommands::Revoke(args)) => revoke(args, output).await,
        Some(PermissionsCommands::Edit(args)) => edit::run(&args, output),
        None => show(args.output.json, output).await,
    }
}

async fn revoke(args: RevokeArgs, output: Output) -> CommandResult {
    let grant: GrantId = args.grant.parse().map_err(|error: pitcrew_model::ParseIdError| {
        Report::new(Exit::Usage, error.to_string()).help("`pitcrew permissions` lists them")
    })?;
    let client = Client::here().await?;
    let accepted = client.command(&Command::RevokeGrant { grant }).await?;
    let words = format!("{grant} is revoked; agents must ask again");
    reply::accepted(output, args.output, &accepted, &words)
}

async fn show(is_json: bool, output: Output) -> CommandResult {
    let workspace = Workspace::here()?;
    let permissions = workspace.permissions()?;
    let view: PermissionsView = Client::of(workspace).await?.get(paths::PERMISSIONS).await?;
    let is_in_force = view.matrix == permissions.matrix;
    if is_json {
        output.json(&as_json(&permissions, &view, is_in_force))?;
        return Ok(exit(&permissions));
    }
    rules(&permissions, output)?;
    grants(&view, output)?;
    notes(&permissions, output);
    if !is_in_force {
        output.note(
            "note: the orchestrator still uses the permissions it read when it started; run \
             `pitcrew stop` to apply the current files",
        );
    }
    Ok(exit(&permissions))
}

/// A file with errors makes the command fail.
fn exit(permissions: &Permissions) -> Exit {
    if permissions.errors.is_empty() { Exit::Success } else { Exit::Failure }
}

fn rules(permissions: &Permissions, output: Output) -> Result<(), Report> {
    let style = output.out;
    let mut table = Table::new(&[Align::Left, Align::Left, Align::Left]);
    let mut category = None;
    for row in &permissions.rules {
        if category != Some(row.action.category()) {
            category = Some(row.action.category());
            let name = row.action.category().map_or("unknown", |it| it.name());
            table.row([style.bold(name), String::new(), String::new()]);
        }
        let rule = match row.rule {
            Rule::AutoApprove => style.green("auto_approve"),
            Rule::AskUser => style.yellow("ask_user"),
            Rule::AutoDeny => style.red("auto_deny"),
        };
        let origin = style.dim(&printable(&place(&row.origin)));
        table.row([format!("  {}", printable(row.action.name())), rule, origin]);
    }
    table.row([style.bold("limits"), String::new(), String::new()]);
    for row in &permissions.limits {
        let origin = style.dim(&printable(&place(&row.origin)));
        table.row([format!("  {}", row.key), row.value.clone(), origin]);
    }
    for line in table.lines("") {
        output.line(&line)?;
    }
    Ok(())
}

fn grants(view: &PermissionsView, output: Output) -> Result<(), Report> {
    output.line(&output.out.bold("grants"))?;
    if view.grants.is_empty() {
        return output.line("  none");
    }
    for held in &view.grants {
        let ActiveGrant { grant, request, given_by, .. } = held;
        let what = about(grant);
        let (id, reach) = (grant.id, grant.reach);
        output.line(&format!("  {id}  {reach}  {what}  ({request}, by {given_by})"))?;
    }
    Ok(())
}

fn about(grant: &Grant) -> String {
    let actions: Vec<&str> = grant.actions.iter().map(Action::name).collect();
    let command = grant.command.iter().map(|it| format!("`{}`", plain::line(it)));
    let paths = grant.paths.iter().chain(&grant.outside).map(|it| plain::line(it));
    let what: Vec<String> = command.chain(paths).collect();
    format!("{}: {}", actions.join(", "), what.join(" "))
}

/// Prints errors, warnings and ignored rules.
pub fn notes(permissions: &Permissions, output: Output) {
    for it in &permissions.ignored {
        let note = format!("note: `{}` at {} is ignored: {}", it.what, it.origin, it.reason);
        output.note(&printable(&note));
    }
    for diagnostic in permissions.warnings.iter().chain(&permissions.errors) {
        output.note(&diagnostic.to_string());
    }
    if !permissions.errors.is_empty() {
        output
            .note("error: a file with errors is not used; until it is fixed, the others can only make permissions stricter");
    }
}

fn place(origin: &Origin) -> String {
    if origin.layer == Layer::Default { "built in".to_owned() } else { origin.to_string() }
}

fn as_json(permissions: &Permissions, view: &PermissionsView, is_in_force: bool) -> Value {
    let rules = permissions.rules.iter().map(|it| {
        let category = it.action.category().map(pitcrew_model::Category::name);
        let (rule, origin) = (it.rule.to_string(), place(&it.origin));
        json!({ "action": it.action.name(), "category": category, "rule": rule, "origin": origin })
    });
    let limits = permissions
        .limits
        .iter()
        .map(|it| json!({ "key": it.key, "value": it.value, "origin": place(&it.origin) }));
    let ignored = permissions
        .ignored
        .iter()
        .map(|it| json!({ "what": it.what, "origin": it.origin.to_string(), "reason": it.reason }));
    let as_value =
        |it: &Diagnostic| json!({ "file": it.file, "line": it.line, "message": it.message });
    json!({
        "rules": rules.collect::<Vec<_>>(),
        "limits": limits.collect::<Vec<_>>(),
        "grants": view.grants,
        "in_force": is_in_force,
        "ignored": ignored.collect::<Vec<_>>(),
        "warnings": permissions.warnings.iter().map(as_value).collect::<Vec<_>>(),
        "errors": permissions.errors.iter().map(as_value).collect::<Vec<_>>(),
    })
}
