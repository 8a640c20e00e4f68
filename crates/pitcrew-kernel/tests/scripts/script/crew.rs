//! `default=claude claude codex=missing builtin=no-model @architect,backend=codex,model=opus`

use pitcrew_model::{
    AgentProfile, BackendProfile, Capability, Crew, Readiness, ToolSet, WorkspaceMode,
};

pub fn crew(words: &str) -> Crew {
    let mut crew = Crew::default();
    for word in words.split_whitespace() {
        if let Some(agent) = word.strip_prefix('@') {
            let agent = profile(agent);
            crew.agents.insert(agent.name.clone(), agent.into());
            continue;
        }
        match word.split_once('=').unwrap_or((word, "ready")) {
            ("default", agent) => crew.default_agent = Some(agent.parse().expect("an agent")),
            (name, state) => {
                let readiness = readiness(state);
                let title = name.to_owned();
                crew.backends.insert(name.into(), BackendProfile { title, readiness });
            }
        }
    }
    crew
}

fn readiness(state: &str) -> Readiness {
    match state {
        "ready" => Readiness::Ready,
        "no-login" => Readiness::NoLogin,
        "no-model" => Readiness::NoModel,
        "commands" => Readiness::CommandsOnly,
        "missing" => Readiness::Missing { reason: "no program".into(), help: "install it".into() },
        other => panic!("a backend cannot be `{other}`"),
    }
}

fn profile(words: &str) -> AgentProfile {
    let mut words = words.split(',');
    let mut it = AgentProfile {
        name: words.next().expect("a name").into(),
        source: "built in".into(),
        ..AgentProfile::default()
    };
    for word in words {
        match word.split_once('=').unwrap_or((word, "")) {
            ("backend", name) => it.backend = Some(name.into()),
            ("model", name) => it.models.push(name.into()),
            ("role", text) => it.role = text.replace('_', " "),
            ("isolated", _) => it.workspace = Some(WorkspaceMode::Isolated),
            ("alone", _) => it.can_spawn_subtasks = Some(false),
            ("depth", max) => it.max_subtask_depth = max.parse().ok(),
            ("tools", list) => it.tools = Some(tools(list)),
            (other, _) => panic!("an agent has no `{other}`"),
        }
    }
    it
}

fn tools(list: &str) -> ToolSet {
    let capability = |name: &str| match name {
        "read" => Capability::Read,
        "edit" => Capability::Edit,
        "execute" => Capability::Execute,
        "web" => Capability::Web,
        "agent" => Capability::Delegate,
        other => panic!("there is no tool `{other}`"),
    };
    let capabilities = list.split('+').map(capability).collect();
    ToolSet { capabilities, ..ToolSet::default() }
}
