//! `demo manual overlap effort=high ask | a in core | b after a attempts=1 timeout=10s check=make`

use pitcrew_model::{
    AgentRef, Approval, Caps, CreatePlan, Deploy, Effort, Origin, Overlap, PlanHead, PlanSpec,
    Reads, RepoPath, TaskSpec, TaskWork, limits,
};

pub fn parse(text: &str) -> CreatePlan {
    let mut parts = text.split('|').map(str::trim);
    let mut words = parts.next().expect("a name").split_whitespace();
    let name = words.next().expect("a name").to_owned();
    let head = PlanHead {
        name,
        description: String::new(),
        base: None,
        deploy: Deploy::Auto,
        overlap: Overlap::Wait,
        effort: Effort::Low,
        shared: Vec::new(),
        setup: Vec::new(),
        setup_inputs: Vec::new(),
        caps: Caps::NONE,
        denied: Vec::new(),
        reads: Reads::Guided,
        include: Vec::new(),
        agents_max: None,
    };
    let tasks = parts.filter(|it| !it.is_empty()).map(task).collect();
    let mut plan = CreatePlan {
        spec: PlanSpec { head, tasks },
        origin: Origin::File,
        clean_base: false,
        approval: Approval::Given,
        default_agent: None,
    };
    for word in words {
        let head = &mut plan.spec.head;
        match word.split_once('=').unwrap_or((word, "")) {
            ("manual", _) => head.deploy = Deploy::Manual,
            ("overlap", _) => head.overlap = Overlap::Allow,
            ("effort", "medium") => head.effort = Effort::Medium,
            ("effort", "high") => head.effort = Effort::High,
            ("about", text) => head.description = text.replace('_', " "),
            ("shared", path) => head.shared.push(prefix(path)),
            ("denied", path) => head.denied.push(prefix(path)),
            ("reads", _) => head.reads = Reads::Zone,
            ("setup", command) => head.setup.push(command.into()),
            ("ask", _) => plan.approval = Approval::Ask,
            ("slots", count) => head.agents_max = Some(count.parse().expect("a number")),
            ("intent", _) => plan.origin = Origin::Intent,
            ("tokens" | "cost", _) => cap(&mut head.caps, word),
            ("clean", _) => plan.clean_base = true,
            (other, _) => panic!("a plan has no `{other}`"),
        }
    }
    plan
}

/// `codex`, `@architect`, or `none`.
fn agent(name: &str) -> AgentRef {
    match name {
        "none" => AgentRef { backend: None, agent: None },
        name => name.parse().expect("an agent"),
    }
}

pub fn task(text: &str) -> TaskSpec {
    let mut words = text.split_whitespace();
    let key = words.next().expect("a task has a name").to_owned();
    let mut task = TaskSpec {
        work: TaskWork::Prompt { prompt: format!("Do {key}.") },
        key,
        region: Vec::new(),
        depends_on: Vec::new(),
        agent: AgentRef::backend("claude"),
        checks: Vec::new(),
        expected_files: Vec::new(),
        criteria: Vec::new(),
        attempts_max: limits::ATTEMPTS_PER_TASK_DEFAULT,
        timeout_ms: limits::TASK_TIMEOUT_MS_DEFAULT,
        caps: Caps::NONE,
        model: None,
    };
    while let Some(word) = words.next() {
        match word.split_once('=').unwrap_or((word, "")) {
            ("after", _) => task.depends_on = list(words.next()),
            ("in", _) => task.region = list(words.next()).iter().map(|it| prefix(it)).collect(),
            ("attempts", count) => task.attempts_max = count.parse().expect("a number"),
            ("agent", name) => task.agent = agent(name),
            ("model", name) => task.model = Some(name.into()),
            ("timeout", time) => task.timeout_ms = milliseconds(time),
            ("check", command) => task.checks.push(command.into()),
            ("file", path) => task.expected_files.push(prefix(path)),
            ("criterion", text) => task.criteria.push(text.replace('_', " ")),
            ("command", command) => {
                let (prompt, command) = (format!("Run {}.", task.key), command.into());
                task.work = TaskWork::Command { prompt, command };
            }
            ("script", script) => {
                let (prompt, script) = (format!("Run {}.", task.key), script.into());
                task.work = TaskWork::Script { prompt, script };
            }
            ("tokens" | "cost", _) => cap(&mut task.caps, word),
            (other, _) => panic!("a task has no `{other}`"),
        }
    }
    task
}

/// `tokens=100`; `cost=2` in dollars.
fn cap(caps: &mut Caps, word: &str) {
    let (key, number) = word.split_once('=').expect("a number");
    let number: u64 = number.parse().expect("a number");
    match key {
        "tokens" => caps.tokens = Some(number),
        _ => caps.cost_micros = Some(number * 1_000_000),
    }
}

fn list(names: Option<&str>) -> Vec<String> {
    names.expect("names").split(',').map(str::to_owned).collect()
}

fn prefix(text: &str) -> RepoPath {
    RepoPath::parse_prefix(text).expect("a path")
}

/// `5s` or `100ms`.
pub fn milliseconds(text: &str) -> u64 {
    let number = |it: &str| it.parse::<u64>().expect("a number");
    match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(it), _) => number(it),
        (None, Some(it)) => number(it) * 1_000,
        (None, None) => panic!("`{text}` is no time"),
    }
}
