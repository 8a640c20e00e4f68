//! One settings file, read and checked by itself.

use super::{
    Layer, LayerText, Origin, SETTING_KEYS, Trust, backends,
    landing::{self, LandingDraft},
    model::{self, ModelDraft},
    network::{self, NetworkDraft},
    notify::{self, NotifyDraft},
    prices::{self, PricesDraft},
    sandbox::{self, SandboxDraft},
    scalars::{self, AGENTS_RANGE, QUERY_TOKENS_RANGE},
};
use crate::{
    backend::BackendDraft,
    diagnostic::{Diagnostic, Problems},
    document::{Section, Span, Spanned, parse_document},
    permissions::{self, PermissionEntries},
    plan,
};
use pitcrew_model::{AgentRef, Reads, RepoPath, limits};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

/// A value and its origin.
#[derive(Clone, Debug)]
pub(crate) struct Found<T> {
    pub value: T,
    pub origin: Origin,
}

/// The values of one layer. An absent value means that the layer does not set it.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub max_agents: Option<Found<u32>>,
    pub max_live_agents: Option<Found<u32>>,
    pub agent: Option<Found<AgentRef>>,
    pub worktrees: Option<Found<PathBuf>>,
    pub task_timeout_ms: Option<Found<u64>>,
    pub lease_ms: Option<Found<u64>>,
    pub query_tokens: Option<Found<u32>>,
    pub query_plan_tokens: Option<Found<u32>>,
    pub query_deadline_ms: Option<Found<u64>>,
    pub max_tokens: Option<Found<u64>>,
    pub max_cost_micros: Option<Found<u64>>,
    pub denied: Option<Found<Vec<RepoPath>>>,
    pub reads: Option<Found<Reads>>,
    pub backends: BTreeMap<String, BackendDraft>,
    pub model: ModelDraft,
    pub prices: PricesDraft,
    pub permissions: PermissionEntries,
    pub network: NetworkDraft,
    pub sandbox: SandboxDraft,
    pub landing: LandingDraft,
    pub notify: NotifyDraft,
}

const ALIASES: &[(&str, &str)] = &[
    ("timeout", "task_timeout"),
    ("backend", "backends"),
    ("default_agent", "agent"),
    ("egress_hosts", "egress_allow"),
    ("allow", "egress_allow"),
    ("forwards", "forward"),
];

/// Reads a settings file. `known` are the backends that exist without it.
pub(super) fn read(
    layer: Layer,
    source: &LayerText,
    home: Option<&str>,
    known: &BTreeSet<String>,
) -> Result<Draft, Vec<Diagnostic>> {
    let mut problems = Problems::new(&source.file, &source.text);
    let draft = read_text(layer, source, home, known, &mut problems);
    let (errors, _) = problems.split();
    match draft {
        Some(draft) if errors.is_empty() => Ok(draft),
        Some(_) | None => Err(errors),
    }
}

fn read_text(
    layer: Layer,
    source: &LayerText,
    home: Option<&str>,
    known: &BTreeSet<String>,
    problems: &mut Problems,
) -> Option<Draft> {
    let document = parse_document(&source.text, problems)?;
    let mut root = Section::root(&document);
    root.check_keys("the settings", SETTING_KEYS, ALIASES, problems);
    let reader = Reader { layer, file: &source.file };
    let max_agents = root.integer("max_agents", &AGENTS_RANGE, problems);
    let max_live_agents = root.integer("max_live_agents", &AGENTS_RANGE, problems);
    let task_timeout = root.duration("task_timeout", limits::TASK_TIMEOUT_MS_MAX, problems);
    let lease = root.duration("lease", limits::LEASE_MS_MAX, problems);
    let query_tokens = root.integer("query_tokens", &QUERY_TOKENS_RANGE, problems);
    let query_plan_tokens = root.integer("query_plan_tokens", &QUERY_TOKENS_RANGE, problems);
    let query_deadline = root.duration("query_deadline", limits::QUERY_DEADLINE_MS_MAX, problems);
    let max_tokens = root.tokens("max_tokens", problems);
    let max_cost = root.dollars("max_cost", problems);
    let agent = checked(&root, "agent", problems, scalars::agent);
    let reads = checked(&root, "reads", problems, scalars::reads);
    let denied = plan::denied_paths(&root, problems);
    refuse_foreign(&root, source.trust, problems);
    let worktrees = checked(&root, "worktrees", problems, |text| scalars::worktrees(text, home));
    Some(Draft {
        max_agents: reader.found(max_agents, problems),
        max_live_agents: reader.found(max_live_agents, problems),
        agent: reader.found(agent, problems),
        worktrees: reader.found(worktrees, problems),
        task_timeout_ms: reader.found(task_timeout, problems),
        lease_ms: reader.found(lease, problems),
        query_tokens: reader.found(query_tokens, problems),
        query_plan_tokens: reader.found(query_plan_tokens, problems),
        query_deadline_ms: reader.found(query_deadline, problems),
        max_tokens: reader.found(max_tokens, problems),
        max_cost_micros: reader.found(max_cost, problems),
        denied: reader.found(denied, problems),
        reads: reader.found(reads, problems),
        backends: backends::in_settings(&root, &reader, known, problems),
        model: model::in_settings(&root, &reader, home, problems),
        prices: prices::in_settings(&root, &reader, problems),
        network: network::in_settings(&root, &reader, problems),
        sandbox: sandbox::in_settings(&root, &reader, source.trust, home, problems),
        landing: landing::in_settings(&root, &reader, problems),
        notify: notify::in_settings(&root, &reader, home, problems),
        permissions: permissions::in_settings(
            &root,
            layer,
            &|span, it| reader.origin(span, it),
            problems,
        ),
    })
}

/// A repository may not choose the programs that run on the user's machine, nor where files are
/// written.
fn refuse_foreign(root: &Section, trust: Trust, problems: &mut Problems) {
    if trust == Trust::Person {
        return;
    }
    if root.item("worktrees").is_some() {
        let message =
            "a file that comes with the repository cannot choose where checkouts are made";
        let help =
            "put `worktrees` into your own settings, usually `~/.config/pitcrew/config.toml`";
        problems.error(&root.key_span("worktrees"), message, Some(help.into()));
    }
}

fn checked<T>(
    root: &Section,
    key: &str,
    problems: &mut Problems,
    parse: impl Fn(&str) -> Result<T, scalars::InvalidValue>,
) -> Option<Spanned<T>> {
    let text = root.string(key, problems)?;
    match parse(&text.value) {
        Ok(value) => Some(Spanned { value, span: text.span }),
        Err(invalid) => {
            problems.error(&text.span, format!("`{key}` {}", invalid.reason), Some(invalid.help));
            None
        }
    }
}

/// Reads values and records their origins.
pub(super) struct Reader<'a> {
    pub layer: Layer,
    pub file: &'a str,
}

impl Reader<'_> {
    fn found<T>(&self, value: Option<Spanned<T>>, problems: &Problems) -> Option<Found<T>> {
        let Spanned { value, span } = value?;
        Some(Found { value, origin: self.origin(&span, problems) })
    }

    pub fn origin(&self, span: &Span, problems: &Problems) -> Origin {
        let line = Some(problems.line_of(span));
        Origin { layer: self.layer, place: self.file.to_owned(), line }
    }
}
