//! The parts of the samples.

use pitcrew_model::{
    Action, AgentProfile, AgentRef, AttemptId, BackendProfile, Capability, Caps, CheckResult,
    CommitId, Crew, Deploy, Effort, Exit, Grant, GrantId, GrantTarget, HouseRules, Matrix,
    MatrixLimits, MessageId, Overlap, PlanHead, PlanId, Readiness, Reads, RepoPath, RequestId,
    Sandbox, TaskId, TaskSpec, TaskWork, Tier, ToolSet, ToolUse, WorkerId, WorkspaceMode, Zone,
};

pub const PLAN: PlanId = PlanId(7);
pub const TASK: TaskId = TaskId(392);
pub const ATTEMPT: AttemptId = AttemptId(41);
pub const WORKER: WorkerId = WorkerId(12);
pub const REQUEST: RequestId = RequestId(3);
pub const MESSAGE: MessageId = MessageId(5);

pub fn commit(digit: &str) -> CommitId {
    CommitId(digit.repeat(40))
}

pub fn path(text: &str) -> RepoPath {
    RepoPath::parse(text).expect("a path")
}

pub fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().copied().map(String::from).collect()
}

pub fn zone() -> Zone {
    Zone {
        region: vec![path("src/api")],
        shared: vec![path("Cargo.lock")],
        denied: vec![path("src/api/secret")],
    }
}

pub fn plan_head() -> PlanHead {
    PlanHead {
        name: "Grün".into(),
        description: "two\nlines".into(),
        base: Some("main".into()),
        deploy: Deploy::Auto,
        overlap: Overlap::Wait,
        effort: Effort::Medium,
        shared: vec![path("Cargo.lock")],
        setup: strings(&["npm ci"]),
        setup_inputs: vec![path("package.json")],
        caps: Caps::NONE,
        denied: Vec::new(),
        reads: Reads::Guided,
        include: Vec::new(),
        agents_max: None,
    }
}

pub fn house_rules() -> HouseRules {
    HouseRules {
        caps: Caps { tokens: Some(1_000), cost_micros: None },
        shared: vec![path("Cargo.lock")],
        denied: vec![path("infra")],
        reads: Reads::Zone,
    }
}

pub fn task_spec() -> TaskSpec {
    TaskSpec {
        key: "api".into(),
        work: TaskWork::Prompt { prompt: "Add the API".into() },
        region: vec![path("src/api"), RepoPath::root()],
        depends_on: strings(&["core"]),
        agent: AgentRef { backend: Some("claude".into()), agent: None },
        checks: strings(&["cargo test"]),
        expected_files: vec![path("src/api/mod.rs")],
        criteria: strings(&["it answers"]),
        attempts_max: 3,
        timeout_ms: 3_600_000,
        caps: Caps::NONE,
        model: None,
    }
}

pub fn check_result() -> CheckResult {
    CheckResult {
        command: "cargo test".into(),
        code: Some(0),
        output: "ok\n".into(),
        took_ms: 1_200,
    }
}

pub fn exit() -> Exit {
    Exit { code: None, signal: Some(9), stderr: "killed\n".into() }
}

pub fn tool_use() -> ToolUse {
    ToolUse {
        title: "Run the tests".into(),
        kind: "execute".into(),
        paths: strings(&["src/api/mod.rs"]),
        outside: strings(&["/etc/hosts"]),
        command: Some("cargo test".into()),
        partial: false,
    }
}

/// A crew in which every field of an agent is set, and every state of a backend occurs.
pub fn crew() -> Crew {
    let backend = |name: &str, readiness| {
        (name.to_owned(), BackendProfile { title: "A program".into(), readiness })
    };
    let missing = Readiness::Missing { reason: "no program".into(), help: "install it".into() };
    let architect = AgentProfile {
        name: "architect".into(),
        description: "Designs.".into(),
        role: "You are an architect.".into(),
        backend: Some("claude".into()),
        models: strings(&["opus"]),
        tools: Some(ToolSet {
            capabilities: [
                Capability::Read,
                Capability::Edit,
                Capability::Execute,
                Capability::Web,
                Capability::Delegate,
            ]
            .into(),
            names: [String::from("a2a_query")].into(),
        }),
        strengths: strings(&["interfaces"]),
        weaknesses: strings(&["details"]),
        workspace: Some(WorkspaceMode::Isolated),
        can_spawn_subtasks: Some(false),
        max_subtask_depth: Some(1),
        source: ".pitcrew/agents/architect.md".into(),
    };
    Crew {
        default_agent: Some(AgentRef::backend("claude")),
        backends: [
            backend("builtin", Readiness::NoModel),
            backend("claude", Readiness::Ready),
            backend("codex", missing),
            backend("command", Readiness::CommandsOnly),
            backend("goose", Readiness::NoLogin),
        ]
        .into(),
        agents: [(architect.name.clone(), architect.into())].into(),
        untrusted: [("painter".to_owned(), ".github/agents/painter.md".to_owned())].into(),
    }
}

/// A matrix in which every list is non-empty.
pub fn matrix() -> Matrix {
    Matrix {
        auto_approve: [Action::FileEditsInWorktree, Action::CommandExecution].into(),
        ask_user: [Action::BranchMerge, Action::Other("levitate".into())].into(),
        auto_deny: [Action::ForcePush].into(),
        limits: MatrixLimits { permission_timeout_ms: Some(60_000), ..MatrixLimits::default() },
        places: [].into(),
    }
}

pub fn sandbox() -> Sandbox {
    Sandbox {
        available: Tier::T1,
        min_tier: Some(Tier::T2),
        obstacle: Some("bubblewrap is not installed: install it".into()),
        consent: true,
        as_root: false,
    }
}

pub fn sandbox_of_root() -> Sandbox {
    Sandbox { available: Tier::T2, min_tier: None, obstacle: None, consent: false, as_root: true }
}

pub fn grant() -> Grant {
    Grant {
        id: GrantId(4),
        actions: [Action::CommandExecution].into(),
        command: Some("cargo test".into()),
        paths: strings(&["src/api"]),
        outside: Vec::new(),
        reach: GrantTarget::Plan(PLAN),
    }
}
