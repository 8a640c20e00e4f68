//! People: they are late, repeat and contradict themselves, and change their minds.

use crate::{
    counters::Fault, dice::Dice, git::Git, schedule::Theme, words::any_subtask, world::World,
};
use pitcrew_kernel::{Plan, Task};
use pitcrew_model::{
    Action, Actor, AgentRef, Approval, BACKEND_COMMAND, Caps, Command, CommitId, CreatePlan,
    Deploy, Effort, Freshness, GrantId, GrantScope, History, Hooks, HouseRules, InputBody,
    LandingStatus, Matrix, MessageId, Origin, Overlap, Party, PlanHead, PlanId, PlanSpec,
    PlanStatus, Priority, RepoPath, RequestId, RequestKind, RequestStatus, Rule, Sandbox, Signal,
    TaskId, TaskSpec, TaskStatus, TaskWork, Tier, Verdict, WorkerId,
};

impl World {
    pub fn person(&mut self, dice: &mut Dice) {
        if dice.one_in(8)
            && let Some(merged) = self.merge_by_hand(dice)
        {
            self.counters.count(Fault::MergedByHand);
            return self.signal(merged);
        }
        let command = match &self.last_command {
            Some(last) if dice.one_in(12) => self.once_more(last.clone(), dice),
            _ if dice.one_in(3) => self.any_command(dice),
            _ => {
                let wanted = self.wanted(dice);
                dice.pick(&wanted).unwrap_or_else(|| self.any_command(dice))
            }
        };
        self.count_command(&command);
        self.last_command = Some(command.clone());
        // A task that another actor adds waits for the person.
        let is_added = matches!(command, Command::AddTask { .. });
        let is_clients = matches!(command, Command::SpawnStandalone { .. } | Command::Once { .. });
        let by_client = is_clients || is_added && dice.one_in(2);
        let actor = if by_client { Actor::Client } else { Actor::Person };
        self.say(actor, InputBody::Command(command));
    }

    /// Merges a result that is on a separate branch. The report about it may come late.
    fn merge_by_hand(&self, dice: &mut Dice) -> Option<Signal> {
        let is_side = |it: &&Plan| it.landing == LandingStatus::SideBranch || dice.one_in(8);
        let plan = self.state().plans.iter().filter(is_side).find(|it| it.landed.is_some())?;
        let landed = plan.landed.as_ref()?.commit.clone();
        Some(Signal::MergedByHand { plan: plan.id, branch: "main".into(), landed })
    }

    pub fn hand_in_plan(&mut self, dice: &mut Dice, tasks_max: u8) {
        let plan = match self.theme {
            Theme::Anything => new_plan(dice, u64::from(tasks_max)),
            Theme::Code | Theme::Rights => side_by_side(dice),
        };
        self.say(Actor::Person, InputBody::Command(Command::CreatePlan(plan)));
    }

    /// Repeats a command, or does the opposite.
    fn once_more(&mut self, last: Command, dice: &mut Dice) -> Command {
        if let Command::DecideRequest { request, verdict, reason, scope, shown } = &last
            && dice.one_in(2)
        {
            self.counters.count(Fault::Contradiction);
            let verdict = match verdict {
                Verdict::Approve => Verdict::Deny,
                Verdict::Deny => Verdict::Approve,
            };
            let (request, reason, scope, shown) = (*request, reason.clone(), *scope, *shown);
            return Command::DecideRequest { request, verdict, reason, scope, shown };
        }
        self.counters.count(Fault::SecondAnswer);
        last
    }

    /// Returns the commands that make sense on the current board.
    fn wanted(&self, dice: &mut Dice) -> Vec<Command> {
        let mut wanted = Vec::new();
        let verdict = if dice.one_in(4) { Verdict::Deny } else { Verdict::Approve };
        let open = self.state().requests.iter().filter(|it| it.status == RequestStatus::AtUser);
        wanted.extend(open.map(|it| {
            let request = it.id;
            if let RequestKind::Question { .. } = it.kind {
                Command::AnswerQuestion { request, text: "answer".into() }
            } else {
                // Only tool uses can be granted.
                let is_tool = matches!(it.kind, RequestKind::ToolUse { .. });
                let scope = if is_tool { some_scope(dice) } else { GrantScope::Once };
                let shown = self.shown(request).filter(|_| !dice.one_in(4));
                Command::DecideRequest { request, verdict, reason: None, scope, shown }
            }
        }));
        let held = |it: &&Task| self.ledger.is_held(it.id) && !it.status.has_ended();
        let held = self.state().tasks.iter().filter(held).map(|it| it.id);
        let freshness = Freshness::Continue;
        wanted.extend(held.map(|it| Command::RetryTasks { tasks: vec![it], freshness }));
        wanted.extend(self.state().tasks.iter().filter_map(|it| wanted_of_task(it, dice)));
        wanted
            .extend(self.state().plans.iter().filter_map(|it| wanted_of_plan(it, &self.git, dice)));
        wanted
    }

    fn any_command(&mut self, dice: &mut Dice) -> Command {
        let state = self.state();
        let (tasks, plans) = (state.tasks.len() as u64, state.plans.len() as u64);
        let (task, plan) = (TaskId(1 + dice.below(tasks + 1)), PlanId(1 + dice.below(plans + 1)));
        let state_grants = state.grants_count;
        let request = self.some_request(dice);
        let verdict = if dice.one_in(4) { Verdict::Deny } else { Verdict::Approve };
        let freshness = if dice.one_in(3) { Freshness::Fresh } else { Freshness::Continue };
        let approval = if dice.one_in(2) { Approval::Given } else { Approval::Ask };
        match dice.below(48) {
            0..11 => {
                let (scope, shown) = (some_scope(dice), self.shown(request));
                Command::DecideRequest { request, verdict, reason: None, scope, shown }
            }
            11 => Command::RevokeGrant { grant: GrantId(1 + dice.below(state_grants + 1)) },
            12..17 => Command::AnswerQuestion { request, text: "answer".into() },
            17..20 => Command::DeployTask { task },
            20..25 => {
                let other = TaskId(1 + dice.below(tasks.max(1)));
                let tasks = if dice.one_in(2) { vec![task] } else { vec![task, other] };
                Command::RetryTasks { tasks, freshness }
            }
            25 | 26 => Command::AcceptTask { task },
            27 | 28 => Command::CancelTask { task },
            29 if dice.one_in(4) => Command::CancelPlan { plan },
            29 | 30 => Command::PausePlan { plan },
            31..34 => Command::ResumePlan { plan },
            34 => Command::AbandonTask { task },
            35 => Command::AbandonPlan { plan },
            36 | 37 => {
                let history = (plan.0 % 2 == 0).then_some(History::Squash);
                let signed = self.some_signature(plan, dice);
                let (message, hooks) = (None, Hooks::Run);
                Command::LandPlan { plan, approval, history, message, hooks, signed }
            }
            38 if dice.one_in(3) => {
                let signed = self.some_signature(plan, dice);
                Command::UndoLanding { plan, signed }
            }
            38 if dice.one_in(2) => Command::CollectGarbage,
            38 => {
                let number = if dice.one_in(2) { None } else { Some(dice.small(4)) };
                Command::RestoreTask { task, number }
            }
            39 => Command::SetAgentsMax { count: dice.small(5) },
            40 | 41 => {
                let count = self.state().plan(plan).map_or(0, |it| it.tasks.len() as u64);
                Command::AddTask { plan, task: Box::new(new_task(dice, count, count + 1)) }
            }
            42 | 43 => by_client(dice),
            44 => Command::AcceptTier { tier: if dice.one_in(3) { Tier::T2 } else { Tier::T1 } },
            _ => self.any_message(dice),
        }
    }

    /// Revokes any active grant.
    pub fn somebody_revokes(&mut self, dice: &mut Dice) {
        let held: Vec<GrantId> = self.state().grants.keys().copied().collect();
        let Some(grant) = dice.pick(&held) else { return };
        self.counters.count(Fault::Revoked);
        self.say(Actor::Person, InputBody::Command(Command::RevokeGrant { grant }));
    }

    fn any_message(&self, dice: &mut Dice) -> Command {
        let state = self.state();
        let task = Party::Task(TaskId(1 + dice.below(state.tasks.len() as u64 + 1)));
        let worker = Party::Worker(WorkerId(1 + dice.below(state.workers.len() as u64 + 1)));
        let priority = dice.pick(Priority::ALL).filter(|_| !dice.one_in(3));
        let key = format!("key-{}", dice.below(6));
        let letters = self.ledger.mail.letters.len() as u64;
        Command::SendMessage {
            to: if dice.one_in(2) { task } else { worker },
            content: "do it well".into(),
            priority,
            thread: dice.one_in(5).then(|| MessageId(1 + dice.below(letters + 1))),
            key: dice.one_in(3).then_some(key),
        }
    }

    fn is_sent(&self, key: &str) -> bool {
        self.ledger.mail.letters.iter().any(|it| it.key.as_deref() == Some(key))
    }

    /// How many tasks the plan of a request has.
    pub fn shown(&self, request: RequestId) -> Option<u32> {
        let plan = self.state().requests.get(request)?.plan;
        u32::try_from(self.state().plans[plan].tasks.len()).ok()
    }

    fn some_request(&mut self, dice: &mut Dice) -> RequestId {
        let all = self.ledger.requests.iter().zip(1..);
        let open = all.filter(|it| it.0.status == RequestStatus::AtUser);
        let open: Vec<RequestId> = open.map(|it| RequestId(it.1)).collect();
        match dice.pick(&open) {
            Some(request) if !dice.one_in(10) => request,
            _ => RequestId(1 + dice.below(self.ledger.requests.len() as u64 + 1)),
        }
    }

    /// Returns what waits for a signature, mostly.
    fn some_signature(&self, plan: PlanId, dice: &mut Dice) -> Option<CommitId> {
        let waits = self.git.plans.get(&plan).and_then(|it| it.to_sign.clone());
        waits.filter(|_| !dice.one_in(4))
    }

    fn count_command(&mut self, command: &Command) {
        if let Command::DecideRequest { request, .. } | Command::AnswerQuestion { request, .. } =
            command
        {
            let mut all = self.ledger.requests.iter().zip(1..);
            let it = all.find(|it| it.1 == request.0);
            if it.is_some_and(|it| it.0.status != RequestStatus::AtUser) {
                self.counters.count(Fault::LateAnswer);
            }
        }
        let fault = match command {
            Command::CancelTask { .. } | Command::CancelPlan { .. } => Fault::Cancelled,
            Command::PausePlan { .. } => Fault::Paused,
            Command::RetryTasks { .. } => Fault::Retried,
            Command::AcceptTask { .. } => Fault::Accepted,
            Command::AbandonTask { .. } | Command::AbandonPlan { .. } => Fault::Abandoned,
            Command::LandPlan { .. } => Fault::Landed,
            Command::UndoLanding { .. } => Fault::UndoAsked,
            Command::SetAgentsMax { .. } => Fault::Limited,
            Command::RestoreTask { .. } => Fault::Restored,
            Command::SendMessage { key: Some(key), .. } if self.is_sent(key) => Fault::MessageTwice,
            Command::RevokeGrant { .. } => Fault::Revoked,
            Command::CreatePlan(_)
            | Command::DecideRequest { .. }
            | Command::AnswerQuestion { .. }
            | Command::DeployTask { .. }
            | Command::AddTask { .. }
            | Command::ResumePlan { .. }
            | Command::CollectGarbage
            | Command::ApplySettings { .. }
            | Command::ApplyMatrix { .. }
            | Command::ApplyCrew { .. }
            | Command::ApplySandbox { .. }
            | Command::AcceptTier { .. }
            | Command::DecideForChild { .. }
            | Command::AskQuery { .. }
            | Command::ApplyQueryLimits { .. }
            | Command::CompleteTask { .. }
            | Command::Notify { .. }
            | Command::SpawnSubtasks { .. }
            | Command::SpawnStandalone { .. }
            | Command::AwaitSubtasks { .. }
            | Command::PullSubtask { .. }
            | Command::SendMessage { .. }
            | Command::Once { .. } => return,
        };
        self.counters.count(fault);
    }
}

/// An outside client creates sub-tasks, sometimes with a repeated call.
fn by_client(dice: &mut Dice) -> Command {
    let subtasks = (0..=dice.below(3)).map(|_| any_subtask(dice)).collect();
    let denied = dice.one_in(4).then(|| RepoPath::parse_prefix("ui").expect("a path"));
    let denied = denied.into_iter().collect();
    let rules = HouseRules { caps: some_caps(dice), denied, ..HouseRules::default() };
    let order = Command::SpawnStandalone { subtasks, rules };
    if dice.one_in(2) {
        return order;
    }
    Command::Once { nonce: dice.below(9).to_string(), order: Box::new(order) }
}

fn some_scope(dice: &mut Dice) -> GrantScope {
    if dice.one_in(2) {
        return GrantScope::Once;
    }
    // A permission of one task may need a request in another.
    if dice.one_in(3) {
        return GrantScope::Task;
    }
    dice.pick(GrantScope::ALL).expect("a scope")
}

/// Returns any permission matrix and timeout.
pub fn some_matrix(dice: &mut Dice) -> Matrix {
    let mut matrix = Matrix::builtin();
    let rules = [Rule::AutoApprove, Rule::AskUser, Rule::AutoDeny];
    let tools = [
        Action::FileEditsInWorktree,
        Action::FileDeletionInWorktree,
        Action::EditsOutsideWorktree,
        Action::AccessOutsideWorktree,
        Action::CommandExecution,
        Action::GitPush,
        Action::ForcePush,
        Action::PrCreation,
        Action::OtherTool,
    ];
    for _ in 0..dice.below(4) {
        let action = dice.pick(&tools).expect("an action");
        matrix.set(&action, dice.pick(&rules).expect("a rule"));
    }
    if dice.one_in(6) {
        matrix.set(&Action::PlanExecution, Rule::AutoApprove);
        matrix.set(&Action::BranchMerge, Rule::AutoApprove);
    }
    if dice.one_in(3) {
        matrix.limits.permission_timeout_ms = Some(1 + dice.below(20_000));
    }
    if dice.one_in(3) {
        matrix.limits.permission_default = Verdict::Approve;
    }
    if dice.one_in(2) {
        // So that sub-tasks in a borrowed checkout request permissions of their parents.
        matrix.set(&Action::EditsOutsideWorktree, Rule::AskUser);
    }
    let limits = &mut matrix.limits;
    limits.auto_approve_for_subtasks = dice.one_in(4);
    if dice.one_in(2) {
        limits.subtasks_total = 1 + dice.small(8);
        limits.subtasks_parallel = 1 + dice.small(4);
        limits.subtasks_per_minute = 1 + dice.small(8);
        limits.subtask_depth = dice.small(3);
        limits.subtask_depth_standalone = dice.small(2);
    }
    matrix
}

fn wanted_of_task(task: &Task, dice: &mut Dice) -> Option<Command> {
    let (id, freshness) =
        (task.id, if dice.one_in(3) { Freshness::Fresh } else { Freshness::Continue });
    let retry = || Command::RetryTasks { tasks: vec![id], freshness };
    match task.status {
        TaskStatus::Pending if !task.deployed => Some(Command::DeployTask { task: id }),
        TaskStatus::Partial if dice.one_in(3) => Some(retry()),
        TaskStatus::Partial => Some(Command::AcceptTask { task: id }),
        TaskStatus::Failed | TaskStatus::Cancelled if dice.one_in(4) => {
            Some(Command::AbandonTask { task: id })
        }
        TaskStatus::Failed | TaskStatus::Cancelled => Some(retry()),
        TaskStatus::Pending
        | TaskStatus::Queued
        | TaskStatus::Blocked
        | TaskStatus::Starting
        | TaskStatus::Running
        | TaskStatus::Verifying
        | TaskStatus::Integrating => dice.one_in(8).then_some(Command::CancelTask { task: id }),
        TaskStatus::Completed => None,
    }
}

fn wanted_of_plan(plan: &Plan, git: &Git, dice: &mut Dice) -> Option<Command> {
    let id = plan.id;
    match plan.status {
        PlanStatus::Paused => Some(Command::ResumePlan { plan: id }),
        PlanStatus::Active => dice.one_in(2).then_some(Command::PausePlan { plan: id }),
        PlanStatus::Completed | PlanStatus::Partial if plan.completed_count > 0 => {
            let approval = if dice.one_in(3) { Approval::Ask } else { Approval::Given };
            let (history, message, hooks) = (None, None, Hooks::Run);
            let signed = git.plans.get(&id).and_then(|it| it.to_sign.clone());
            if plan.landing.may_become(LandingStatus::Undoing) {
                return Some(Command::UndoLanding { plan: id, signed });
            }
            Some(Command::LandPlan { plan: id, approval, history, message, hooks, signed })
        }
        PlanStatus::Draft
        | PlanStatus::Clarifying
        | PlanStatus::Decomposing
        | PlanStatus::AwaitingApproval
        | PlanStatus::Completed
        | PlanStatus::Partial
        | PlanStatus::Failed
        | PlanStatus::Cancelled => dice.one_in(4).then_some(Command::AbandonPlan { plan: id }),
    }
}

fn new_plan(dice: &mut Dice, tasks_max: u64) -> CreatePlan {
    let count = 1 + dice.below(tasks_max);
    let head = PlanHead {
        name: "plan".into(),
        description: String::new(),
        base: None,
        deploy: if dice.one_in(6) { Deploy::Manual } else { Deploy::Auto },
        overlap: if dice.one_in(4) { Overlap::Allow } else { Overlap::Wait },
        effort: Effort::Low,
        shared: some_path(dice, "Cargo.lock"),
        setup: Vec::new(),
        setup_inputs: Vec::new(),
        caps: some_caps(dice),
        denied: some_path(dice, "core/b/c"),
        reads: pitcrew_model::Reads::Guided,
        include: Vec::new(),
        agents_max: dice.one_in(6).then(|| 1 + dice.small(3)),
    };
    CreatePlan {
        spec: PlanSpec { head, tasks: (0..count).map(|it| new_task(dice, it, count)).collect() },
        origin: if dice.one_in(3) { Origin::Intent } else { Origin::File },
        clean_base: false,
        approval: if dice.one_in(4) { Approval::Ask } else { Approval::Given },
        default_agent: None,
    }
}

fn some_path(dice: &mut Dice, path: &str) -> Vec<RepoPath> {
    let path = dice.one_in(3).then(|| RepoPath::parse_prefix(path).expect("a path"));
    path.into_iter().collect()
}

/// Returns an available and a required tier.
pub fn some_sandbox(dice: &mut Dice) -> Sandbox {
    let tiers = [Tier::T1, Tier::T2, Tier::T3, Tier::T3];
    let available = dice.pick(&tiers).expect("a tier");
    let min_tier = if dice.one_in(4) { dice.pick(&tiers) } else { None };
    Sandbox {
        available,
        min_tier,
        obstacle: None,
        consent: dice.one_in(4),
        as_root: dice.one_in(4),
    }
}

/// Few plans have caps: otherwise nothing would be completed.
fn some_caps(dice: &mut Dice) -> Caps {
    let tokens = dice.one_in(6).then(|| 1 + dice.below(400));
    let cost_micros = dice.one_in(8).then(|| 1 + dice.below(200));
    Caps { tokens, cost_micros }
}

/// Long tasks in parallel, each with its own region.
fn side_by_side(dice: &mut Dice) -> CreatePlan {
    let mut plan = new_plan(dice, 1);
    let head = &mut plan.spec.head;
    (head.deploy, head.caps) = (Deploy::Auto, Caps::NONE);
    (plan.origin, plan.approval) = (Origin::File, Approval::Given);
    let regions = ["core/a", "core/b", "ui", "docs"];
    let tasks = regions.iter().zip(0..2 + dice.below(3)).map(|(region, index)| TaskSpec {
        region: vec![RepoPath::parse_prefix(region).expect("a path")],
        depends_on: Vec::new(),
        work: TaskWork::Prompt { prompt: "do it".into() },
        agent: AgentRef::backend(if index % 2 == 0 { "agent" } else { "other" }),
        caps: Caps::NONE,
        timeout_ms: 60 * 60 * 1_000,
        ..new_task(dice, index, index)
    });
    plan.spec.tasks = tasks.collect();
    plan
}

fn new_task(dice: &mut Dice, index: u64, count: u64) -> TaskSpec {
    let regions = ["core", "core/a", "core/b", "ui"];
    let region = if dice.one_in(3) { None } else { dice.pick(&regions) };
    let prefix = |it: &str| RepoPath::parse_prefix(it).expect("a path");
    // Most depend on earlier ones; sometimes a cycle is tried.
    let reach = if dice.one_in(100) { count } else { index };
    let depends_on = (0..reach).filter(|_| dice.one_in(4)).map(|it| format!("t{it}")).collect();
    let prompt = String::from("do it");
    let work = if dice.one_in(5) {
        TaskWork::Command { prompt, command: "make".into() }
    } else {
        TaskWork::Prompt { prompt }
    };
    let ours = matches!(work, TaskWork::Command { .. }) && dice.one_in(2);
    let backends = if ours { [BACKEND_COMMAND; 2] } else { ["agent", "other"] };
    TaskSpec {
        key: format!("t{index}"),
        work,
        region: region.into_iter().map(prefix).collect(),
        depends_on,
        agent: AgentRef::backend(dice.pick(&backends).expect("a backend")),
        checks: if dice.one_in(2) { vec!["check".into()] } else { Vec::new() },
        expected_files: Vec::new(),
        criteria: Vec::new(),
        attempts_max: 1 + dice.small(3),
        timeout_ms: if dice.one_in(12) { 1_000 + dice.below(10_000) } else { 60 * 60 * 1_000 },
        caps: some_caps(dice),
        model: dice.one_in(4).then(|| "small".into()),
    }
}
