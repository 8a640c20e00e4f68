//! Makes a plan from a request in plain English.
//!
//! A request becomes one task unless it clearly describes several: several phrases of the form `use
//! AGENT for PATH: ...`, or several agents with their own regions.

use super::{
    PlanDefaults, PlanErrors,
    agent::{self, AgentRefused},
    head::{check_base, path_help},
    keys::{BACKEND_BUILTIN, shared_default},
    overrides::{self, Override, Scope},
    task::check_model,
};
use crate::diagnostic::Problems;
use pitcrew_model::{
    AgentProblem, AgentRef, Deploy, Effort, Overlap, PlanHead, PlanSpec, Readiness, RepoPath,
    TaskSpec, TaskWork, limits, text,
};
use std::collections::BTreeSet;

/// Bytes of a request that become the plan's name.
const NAME_BYTES: usize = 80;
/// The name of the request in messages.
const TASK_FLAG: &str = "--task";

/// A request on the command line. Flags override the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntentRequest {
    pub text: String,
    pub regions: Vec<String>,
    pub checks: Vec<String>,
    pub agent: Option<String>,
    pub model: Option<String>,
    pub base: Option<String>,
}

/// Makes a plan from a request.
pub fn intent_plan(
    request: &IntentRequest,
    defaults: &PlanDefaults,
) -> Result<PlanSpec, PlanErrors> {
    let flags = Flags::read(request);
    let mut problems = Problems::new(TASK_FLAG, &request.text);
    let tasks = tasks(request, flags.as_ref().ok(), defaults, &mut problems);
    let mut diagnostics = problems.split().0;
    match (flags, tasks) {
        (Ok(_), Some(tasks)) if diagnostics.is_empty() => {
            Ok(PlanSpec { head: head(request, defaults), tasks })
        }
        (Ok(_), _) => Err(PlanErrors { diagnostics }),
        (Err(errors), _) => {
            diagnostics.splice(0..0, errors.diagnostics);
            Err(PlanErrors { diagnostics })
        }
    }
}

/// The checked flags.
struct Flags {
    agent: Option<AgentRef>,
    regions: Vec<RepoPath>,
}

impl Flags {
    fn read(request: &IntentRequest) -> Result<Self, PlanErrors> {
        let mut diagnostics = Vec::new();
        let mut refuse = |flag: &str, value: &str, message: String, help: Option<String>| {
            let mut problems = Problems::new(flag, value);
            problems.error(&(0..value.len()), message, help);
            diagnostics.extend(problems.split().0);
        };
        let mut regions = Vec::new();
        for text in &request.regions {
            match RepoPath::parse_prefix(text) {
                Ok(region) => regions.push(region),
                Err(reason) => {
                    let message = format!("`{text}` is not a region: {reason}");
                    refuse("--region", text, message, path_help(text, &reason));
                }
            }
        }
        let agent = request.agent.as_deref().map(|it| (it, it.parse::<AgentRef>()));
        if let Some((text, Err(shape))) = &agent {
            refuse("--agent", text, format!("`{text}` is not an agent"), Some((*shape).into()));
        }
        for check in &request.checks {
            if check.trim().is_empty() || check.contains('\0') {
                refuse(
                    "--check",
                    check,
                    "the check is empty or contains a NUL character".into(),
                    None,
                );
            }
        }
        if let Some(model) = &request.model
            && let Err(reason) = check_model(model)
        {
            refuse("--model", model, format!("the model {reason}"), None);
        }
        if let Some(base) = &request.base
            && let Err(reason) = check_base(base)
        {
            refuse("--base", base, format!("`{base}` cannot be used: {reason}"), None);
        }
        if diagnostics.is_empty() {
            Ok(Self { agent: agent.and_then(|(_, it)| it.ok()), regions })
        } else {
            Err(PlanErrors { diagnostics })
        }
    }
}

/// One task of the request, before it is checked.
struct Part {
    /// The text that its name is derived from.
    title: String,
    prompt: String,
    agent: Option<AgentRef>,
    regions: Vec<RepoPath>,
}

fn tasks(
    request: &IntentRequest,
    flags: Option<&Flags>,
    defaults: &PlanDefaults,
    problems: &mut Problems,
) -> Option<Vec<TaskSpec>> {
    let whole = 0..request.text.len();
    if request.text.len() > limits::PROMPT_BYTES_MAX {
        let (bytes, max) = (request.text.len(), limits::PROMPT_BYTES_MAX);
        problems.error(
            &whole,
            format!("the request has {bytes} bytes; at most {max} are allowed"),
            None,
        );
        return None;
    }
    let flags = flags?;
    let parts = parts(&request.text, flags, &known(defaults), problems)?;
    let mut keys = BTreeSet::new();
    let mut tasks = Vec::new();
    for part in parts {
        let key = unique(&text::slug(&part.title), &mut keys);
        let work = TaskWork::Prompt { prompt: part.prompt };
        let title = format!("task `{key}`");
        let named = part.agent.or_else(|| defaults.agent.clone());
        let agent = named.unwrap_or(AgentRef { backend: None, agent: None });
        if let Some(refused) = agent::refused(&title, &agent, &work, defaults) {
            let (message, help) = in_words(&title, refused, request.agent.as_deref(), defaults);
            problems.error(&whole, message, Some(help));
            continue;
        }
        tasks.push(TaskSpec {
            key,
            work,
            region: part.regions,
            depends_on: Vec::new(),
            agent,
            checks: request.checks.clone(),
            expected_files: Vec::new(),
            criteria: Vec::new(),
            attempts_max: defaults.attempts_max,
            timeout_ms: defaults.timeout_ms,
            caps: pitcrew_model::Caps::NONE,
            model: request.model.clone(),
        });
    }
    Some(tasks)
}

/// The backends that a request can name. With a model, the built-in agent is one of them.
fn known(defaults: &PlanDefaults) -> BTreeSet<String> {
    let crew = defaults.crew.as_ref();
    let builtin = crew.and_then(|it| it.backends.get(BACKEND_BUILTIN));
    let ours = builtin.filter(|it| it.readiness == Readiness::Ready);
    let ours = ours.map(|_| BACKEND_BUILTIN.to_owned());
    defaults.backends.iter().cloned().chain(ours).collect()
}

/// Rewords a problem for a user who has no plan file.
fn in_words(
    title: &str,
    refused: AgentRefused,
    agent: Option<&str>,
    defaults: &PlanDefaults,
) -> (String, String) {
    let message = refused.message.replacen(title, "the request", 1);
    match refused.problem {
        Some(AgentProblem::NoneNamed) => {
            let usual = "add `--agent claude` (or another backend), begin the request with `use claude: ...`, or set `agent = \"claude\"` in the settings";
            let help = defaults.no_agent_help.clone().unwrap_or_else(|| usual.into());
            ("no agent is set for the request".into(), help)
        }
        Some(AgentProblem::NoModel { .. }) => {
            let help = "set PITCREW_MODEL=provider/name or `[model]` in your settings, or name another agent with `--agent`; a `script` needs a plan file";
            (message, help.into())
        }
        Some(AgentProblem::NoCommand { .. }) => {
            let agent = agent.unwrap_or_default();
            (message, format!("`--agent {agent}` needs a plan file: {}", refused.help))
        }
        Some(
            AgentProblem::Unknown { .. }
            | AgentProblem::Untrusted { .. }
            | AgentProblem::NoBackend { .. }
            | AgentProblem::Missing { .. },
        )
        | None => (message, refused.help),
    }
}

fn parts(
    text: &str,
    flags: &Flags,
    backends: &BTreeSet<String>,
    problems: &mut Problems,
) -> Option<Vec<Part>> {
    let overrides = match overrides::find(text, backends) {
        Ok(overrides) => overrides,
        Err(bad) => {
            for it in bad {
                let message = format!("`{}` is not a region: {}", it.text, it.reason);
                problems.error(&it.span, message, path_help(&it.text, &it.reason));
            }
            return None;
        }
    };
    let parts = if flags.regions.is_empty() {
        split(text, &overrides, flags, problems)
    } else {
        let agent = flags.agent.clone().or_else(|| one_agent(&overrides, problems));
        let prompt = without(text, &overrides);
        vec![Part { title: prompt.clone(), prompt, agent, regions: flags.regions.clone() }]
    };
    if parts.iter().any(|it| it.prompt.is_empty()) {
        let message = "the request does not say what to do";
        let help = "describe the work, for example: use claude for /ui: restyle the login form";
        problems.error(&(0..text.len()), message, Some(help.into()));
        return None;
    }
    (!problems.has_errors()).then_some(parts)
}

fn split(text: &str, overrides: &[Override], flags: &Flags, problems: &mut Problems) -> Vec<Part> {
    let heads: Vec<&Override> =
        overrides.iter().filter(|it| it.reach == Scope::Following).collect();
    if heads.len() >= 2 {
        return by_heads(text, overrides, &heads, flags);
    }
    let prompt = without(text, overrides);
    let mut agents: Vec<&AgentRef> = Vec::new();
    for agent in overrides.iter().filter_map(|it| it.agent.as_ref()) {
        if !agents.contains(&agent) {
            agents.push(agent);
        }
    }
    let regions_of = |agent: Option<&AgentRef>| {
        let own = overrides.iter().filter(|it| agent.is_none() || it.agent.as_ref() == agent);
        let regions: BTreeSet<RepoPath> = own.flat_map(|it| it.regions.iter().cloned()).collect();
        Vec::from_iter(regions)
    };
    let apart = agents.iter().all(|it| !regions_of(Some(it)).is_empty());
    if agents.len() >= 2 && apart {
        let part = |agent: &&AgentRef| Part {
            title: prompt.clone(),
            prompt: prompt.clone(),
            agent: flags.agent.clone().or_else(|| Some((*agent).clone())),
            regions: regions_of(Some(agent)),
        };
        return agents.iter().map(part).collect();
    }
    let agent = flags.agent.clone().or_else(|| one_agent(overrides, problems));
    vec![Part { title: prompt.clone(), prompt, agent, regions: regions_of(None) }]
}

/// One part for each phrase with its own request. Text before the first phrase is added to all
/// parts.
fn by_heads(text: &str, overrides: &[Override], heads: &[&Override], flags: &Flags) -> Vec<Part> {
    let common: Vec<&Override> = overrides.iter().filter(|it| it.reach == Scope::Request).collect();
    let cut = |from: usize, to: usize| {
        let inside = common.iter().filter(|it| from <= it.span.start && it.span.end <= to);
        let shifted = inside.map(|it| it.span.start - from..it.span.end - from);
        remove(&text[from..to], shifted)
    };
    let preamble = cut(0, heads[0].span.start);
    let part = |(index, head): (usize, &&Override)| {
        let end = heads.get(index + 1).map_or(text.len(), |it| it.span.start);
        let own = cut(head.span.end, end);
        let has_both = !preamble.is_empty() && !own.is_empty();
        let agent = head.agent.clone().or_else(|| common.iter().find_map(|it| it.agent.clone()));
        Part {
            title: own.clone(),
            prompt: if has_both { format!("{preamble}\n\n{own}") } else { own },
            agent: flags.agent.clone().or(agent),
            regions: head.regions.clone(),
        }
    };
    heads.iter().enumerate().map(part).collect()
}

/// The agent of a request with one task. Naming two is an error.
fn one_agent(overrides: &[Override], problems: &mut Problems) -> Option<AgentRef> {
    let mut named = overrides.iter().filter_map(|it| Some((it, it.agent.as_ref()?)));
    let (_, first) = named.next()?;
    if let Some((place, second)) = named.find(|(_, it)| *it != first) {
        let message = format!("the request names two agents for one task: {first} and {second}");
        let help = format!(
            "name one, add `--agent {first}`, or say what each does: use {first} for /a: ...; use {second} for /b: ..."
        );
        problems.error(&place.span, message, Some(help));
        return None;
    }
    Some(first.clone())
}

fn without(text: &str, overrides: &[Override]) -> String {
    remove(text, overrides.iter().map(|it| it.span.clone()))
}

/// The text without some ranges and the punctuation around them.
fn remove(text: &str, pieces: impl Iterator<Item = std::ops::Range<usize>>) -> String {
    let mut kept = String::new();
    let mut at = 0;
    for piece in pieces {
        kept.push_str(&text[at..piece.start]);
        at = piece.end;
        if !piece.is_empty() {
            kept.truncate(kept.trim_end_matches([' ', '\t']).len());
        }
    }
    kept.push_str(&text[at..]);
    let separators = |it: char| it.is_whitespace() || [',', ';', ':'].contains(&it);
    let kept = kept.trim_matches(separators);
    let kept = kept.trim_start_matches(['-', '*']).trim_start_matches(separators);
    let kept = kept.trim_end_matches(|it: char| separators(it) || ['-', '*'].contains(&it));
    kept.strip_suffix(" and").unwrap_or(kept).trim_end_matches(separators).to_owned()
}

fn unique(slug: &str, taken: &mut BTreeSet<String>) -> String {
    let numbered = (2..).map(|number| format!("{slug}-{number}"));
    let mut names = std::iter::once(slug.to_owned()).chain(numbered);
    let free = names.find(|it| !taken.contains(it)).expect("the numbers do not end");
    taken.insert(free.clone());
    free
}

fn head(request: &IntentRequest, defaults: &PlanDefaults) -> PlanHead {
    let line = request.text.trim().lines().next().unwrap_or_default();
    let plain: String = line.chars().filter(|it| !it.is_control()).collect();
    PlanHead {
        name: text::cut(plain.trim(), NAME_BYTES).trim_end().to_owned(),
        description: request.text.trim().to_owned(),
        base: request.base.clone(),
        deploy: Deploy::Auto,
        overlap: Overlap::Wait,
        effort: Effort::Medium,
        shared: shared_default(),
        setup: Vec::new(),
        setup_inputs: Vec::new(),
        caps: defaults.caps,
        denied: defaults.denied.clone(),
        reads: defaults.reads,
        include: Vec::new(),
        agents_max: None,
    }
}
