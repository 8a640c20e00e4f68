//! The board: statuses and reasons.

use crate::journal::{Journal, PLAN, base, commit, head, render, spec};
use expect_test::expect;
use pitcrew_model::{
    Actor, AttemptId, CheckFailure, CheckResult, Deploy, EffectResult, Event, Failure, LandedAt,
    Landing, LandingStatus, PermissionOption, PermissionOptionKind, PlanHead, PlanId, PlanStatus,
    Reason, RepoPath, RequestId, RequestKind, RequestStatus, StopReason, TaskId, TaskStatus,
    Timestamp, ToolUse, Usage, Work, WorkerId, WorkerStatus,
};
use pitcrew_views::{BaseCheck, RegionView, Scope};

/// S1-010, S1-012: the fields of a plan and a task.
#[test]
fn a_task_waits_for_its_dependencies_by_name() {
    let mut journal = Journal::active();
    journal.task(1, "core", "core", &[]);
    journal.task(2, "api", "api", &[1]);
    journal.task(3, "ui", "ui", &[1, 2]);
    journal.start(1, 1, 1);
    expect![[r#"
        plan-1 demo: active {Pending: 2, Starting: 1}
          task-1 core: starting by worker-1: its checkout is being created
          task-2 api: pending by -: waits for task-1 core
          task-3 ui: pending by -: waits for task-1 core, task-2 api
          worker-1 on task-1: created
    "#]]
    .assert_eq(&render(&journal.view()));

    let view = journal.view();
    let plan = view.plan(PLAN).expect("the plan");
    assert_eq!((plan.name.as_str(), plan.description.as_str()), ("demo", "What it is for."));
    assert_eq!(plan.base, Some(base()));
    assert_eq!(plan.tasks, [TaskId(1), TaskId(2), TaskId(3)]);
    let task = view.task(TaskId(3)).expect("the task");
    assert_eq!((task.key.as_str(), task.prompt.as_str()), ("ui", "Do ui."));
    assert_eq!((task.agent.as_str(), task.plan), ("claude:agent", PLAN));
    assert_eq!(task.depends_on, [TaskId(1), TaskId(2)]);
    assert_eq!(task.worker, None, "it has no worker yet");
    assert_eq!(view.task(TaskId(1)).expect("the task").worker, Some(WorkerId(1)));
}

#[test]
fn a_task_names_its_failed_dependency() {
    let mut journal = Journal::active();
    journal.task(1, "core", "core", &[]);
    journal.task(2, "api", "api", &[1]);
    journal.start(1, 1, 1);
    journal.run(1, 1);
    journal.fail(1, 1, Failure::NoCompletion, TaskStatus::Failed);
    let reason = Reason::DependencyEnded { task: TaskId(1), status: TaskStatus::Failed };
    journal.move_task(2, TaskStatus::Pending, TaskStatus::Blocked, reason);
    expect![[r#"
        plan-1 demo: active {Blocked: 1, Failed: 1}
          task-1 core: failed by -: no completion: two turns ended without a report
          task-2 api: blocked by -: task-1 core is failed
          worker-1 on task-1: failed
    "#]]
    .assert_eq(&render(&journal.view()));
}

#[test]
fn a_task_in_its_back_off_says_when_it_continues() {
    let mut journal = Journal::active();
    journal.task(1, "core", "core", &[]);
    journal.start(1, 1, 1);
    journal.run(1, 1);
    let check = CheckFailure {
        command: "make test".to_owned(),
        code: Some(2),
        output: "1 failed".to_owned(),
        red_on_base: false,
    };
    journal.fail(1, 1, Failure::Checks { failed: vec![check] }, TaskStatus::Pending);
    expect![[r#"
        plan-1 demo: active {Pending: 1}
          task-1 core: pending by -: next attempt in 7.0 s, after: check `make test` failed with exit code 2
          worker-1 on task-1: failed
    "#]].assert_eq(&render(&journal.view()));
    let later = journal.board.view(journal.now().plus(9_000), Scope::All);
    expect!["next attempt is due, after: check `make test` failed with exit code 2"]
        .assert_eq(later.tasks[0].reason.as_deref().expect("a reason"));
    journal.push(Event::RetryGranted {
        task: TaskId(1),
        freshness: pitcrew_model::Freshness::Fresh,
        actor: Actor::Person,
    });
    assert_eq!(journal.view().tasks[0].attempts_max, 4, "a person's retry comes on top");
}

#[test]
fn a_queued_task_says_whether_it_waits_for_a_slot_or_a_region() {
    let mut journal = Journal::active();
    for (number, region) in [(1, "core"), (2, "core/types"), (3, "ui"), (4, "")] {
        journal.task(number, &format!("t{number}"), region, &[]);
    }
    journal.push(Event::AgentsMaxSet { count: 2 });
    journal.start(1, 1, 1);
    for number in 2..=4 {
        journal.move_task(number, TaskStatus::Pending, TaskStatus::Queued, Reason::Progress);
    }
    expect![[r#"
        plan-1 demo: active {Queued: 3, Starting: 1}
          task-1 t1: starting by worker-1: its checkout is being created
          task-2 t2: queued by -: waits for the region of task-1 t1
          task-3 t3: queued by -: is about to be started
          task-4 t4: queued by -: is about to be started
          worker-1 on task-1: created
    "#]]
    .assert_eq(&render(&journal.view()));
    journal.push(Event::AgentsMaxSet { count: 1 });
    expect![[r#"
        plan-1 demo: active {Queued: 3, Starting: 1}
          task-1 t1: starting by worker-1: its checkout is being created
          task-2 t2: queued by -: waits for the region of task-1 t1
          task-3 t3: queued by -: waits for a slot: 1 of 1 are taken
          task-4 t4: queued by -: waits for a slot: 1 of 1 are taken
          worker-1 on task-1: created
    "#]]
    .assert_eq(&render(&journal.view()));
}

#[test]
fn shared_paths_are_nothing_to_wait_for() {
    let mut journal = Journal::default();
    let shared = vec![RepoPath::parse_prefix("core").expect("a path")];
    journal.plan(PLAN, PlanHead { shared, ..head("demo") });
    journal.task(1, "t1", "core/a", &[]);
    journal.task(2, "t2", "core/a", &[]);
    journal.start(1, 1, 1);
    journal.move_task(2, TaskStatus::Pending, TaskStatus::Queued, Reason::Progress);
    let reason = journal.view().tasks[1].reason.clone();
    assert_eq!(reason.as_deref(), Some("is about to be started"));
}

#[test]
fn a_plan_that_does_not_run_stops_its_tasks() {
    let mut journal = Journal::default();
    let manual = PlanHead { deploy: Deploy::Manual, ..head("demo") };
    let actor = Actor::Person;
    let status = PlanStatus::Draft;
    journal.push(Event::PlanCreated { plan: PLAN, head: manual, status, clean_base: true, actor });
    journal.task(1, "core", "core", &[]);
    let mut reasons = Vec::new();
    let mut note = |journal: &Journal| {
        reasons.push(journal.view().tasks[0].reason.clone().expect("a reason"));
    };
    note(&journal);
    journal.move_plan(PLAN, PlanStatus::Draft, PlanStatus::AwaitingApproval, "");
    note(&journal);
    journal.move_plan(PLAN, PlanStatus::AwaitingApproval, PlanStatus::Active, "approved");
    note(&journal);
    journal.result(EffectResult::PlanPrepared { plan: PLAN, base: base() });
    note(&journal);
    journal.push(Event::TaskDeployed { task: TaskId(1), actor });
    note(&journal);
    journal.move_plan(PLAN, PlanStatus::Active, PlanStatus::Paused, "");
    note(&journal);
    expect![[r#"
        the plan is a draft
        the plan waits for approval
        the base is being prepared
        waits for `pitcrew deploy task-1`
        is about to be queued
        the plan is paused
    "#]]
    .assert_eq(&(reasons.join("\n") + "\n"));
}

#[test]
fn a_running_task_shows_its_step() {
    let mut journal = Journal::active();
    journal.task(1, "core", "core", &[]);
    let mut steps = Vec::new();
    let mut note = |journal: &Journal| {
        let task = &journal.view().tasks[0];
        steps.push(format!("{}: {}", task.status, task.reason.as_deref().unwrap_or("-")));
    };
    let attempt = AttemptId(1);
    journal.start(1, 1, 1);
    note(&journal);
    journal.push(Event::AgentStartAsked { worker: WorkerId(1) });
    note(&journal);
    journal.run(1, 1);
    note(&journal);
    journal.ask(1, Some((1, 1)), tool_use());
    journal.move_worker(1, WorkerStatus::Running, WorkerStatus::WaitingPermission);
    note(&journal);
    decide(&mut journal, RequestStatus::Approved);
    note(&journal);
    journal.move_worker(1, WorkerStatus::WaitingPermission, WorkerStatus::Running);
    note(&journal);
    journal.move_worker(1, WorkerStatus::Running, WorkerStatus::Completed);
    journal.move_task(1, TaskStatus::Running, TaskStatus::Verifying, Reason::Progress);
    journal.push(Event::CollectAsked { attempt });
    note(&journal);
    journal.result(EffectResult::WorkCollected { attempt, work: work() });
    note(&journal);
    journal.push(Event::VerifyAsked { attempt, onto: commit('b') });
    note(&journal);
    journal.move_task(1, TaskStatus::Verifying, TaskStatus::Integrating, Reason::Progress);
    journal.push(Event::IntegrateAsked { attempt });
    note(&journal);
    journal.result(EffectResult::Integrated { attempt, head: commit('d') });
    journal.move_task(1, TaskStatus::Integrating, TaskStatus::Completed, Reason::Progress);
    note(&journal);
    expect![[r#"
        starting: its checkout is being created
        starting: its agent starts
        running: -
        running: waits for a permission: request-1
        running: waits for a slot to continue
        running: -
        verifying: its work is being collected
        verifying: waits for its turn to be merged
        verifying: the checks run on the merged tree
        integrating: its work is being integrated
        completed: -
    "#]]
    .assert_eq(&(steps.join("\n") + "\n"));
    let view = journal.view();
    assert_eq!(view.plans[0].head, Some(commit('d')));
    let done = &view.tasks[0].attempts[0];
    assert_eq!((done.files_count, done.insertions, done.deletions), (2, 10, 3));
}

/// S0-019, S0-021: a live worker links task, attempt, agent, session and lifecycle.
#[test]
fn active_sessions_are_those_of_live_workers() {
    let mut journal = Journal::active();
    journal.task(1, "core", "core", &[]);
    journal.task(2, "api", "api", &[]);
    journal.start(1, 1, 1);
    journal.run(1, 1);
    journal.start(2, 2, 1);
    assert_eq!(journal.board.live_workers_count(), 2);
    let view = journal.view();
    assert_eq!(view.sessions.len(), 1, "the second agent is not there yet");
    let session = &view.sessions[0];
    assert_eq!(
        (session.worker, session.task, session.attempt),
        (WorkerId(1), TaskId(1), AttemptId(1))
    );
    assert_eq!((session.agent.as_str(), session.session.as_str()), ("tester", "session-1"));
    assert_eq!(session.status, WorkerStatus::Running);

    let note = "reads \u{1b}[31mcore/a.rs".to_owned();
    journal.push(Event::ActivityNoted { worker: WorkerId(1), note });
    let at = journal.now();
    let view = journal.view();
    let activity = view.worker(WorkerId(1)).and_then(|it| it.activity.as_ref()).expect("a note");
    assert_eq!((activity.note.as_str(), activity.at), ("reads \\u{1b}[31mcore/a.rs", at));

    journal.move_worker(1, WorkerStatus::Running, WorkerStatus::Killed);
    assert_eq!(journal.view().sessions, []);
    assert_eq!(journal.board.live_workers_count(), 1);
}

/// S0-020: the owners of regions, by whole path components.
#[test]
fn a_region_belongs_to_the_live_worker_of_its_task() {
    let mut journal = Journal::active();
    journal.task(1, "core", "core", &[]);
    journal.task(2, "types", "core/types", &[]);
    journal.start(1, 1, 1);
    journal.start(2, 2, 1);
    let view = journal.view();
    let owner = |path: &str| RegionView::owner_of(&view.regions, path).map(|it| it.worker);
    assert_eq!(owner("core/a.rs"), Some(WorkerId(1)));
    assert_eq!(owner("core/types/b.rs"), Some(WorkerId(2)), "the longest prefix wins");
    assert_eq!(owner("core2/a.rs"), None, "never by substring");
    journal.move_worker(2, WorkerStatus::Running, WorkerStatus::Completed);
    let view = journal.view();
    assert_eq!(
        RegionView::owner_of(&view.regions, "core/types/b.rs").map(|it| it.worker),
        Some(WorkerId(1)),
        "what a worker left falls to the next region around it"
    );
}

/// S0-009: the usage of a run is known, per task and per plan.
#[test]
fn usage_is_summed_over_turns_attempts_and_tasks() {
    let mut journal = Journal::active();
    journal.task(1, "core", "core", &[]);
    journal.task(2, "api", "api", &[]);
    for (task, attempt) in [(1, 1), (2, 2)] {
        journal.start(task, attempt, 1);
        journal.run(task, attempt);
        turn(&mut journal, attempt, 100);
        turn(&mut journal, attempt, 10);
    }
    let view = journal.view();
    assert_eq!(view.tasks[0].usage.tokens_in, 110);
    assert_eq!(view.plans[0].usage.tokens_in, 220);
    turn(&mut journal, 1, u64::MAX);
    assert_eq!(journal.view().plans[0].usage.tokens_in, u64::MAX, "a liar does not overflow it");
}

#[test]
fn the_end_of_a_checkout_is_shown() {
    let mut journal = Journal::active();
    journal.task(1, "core", "core", &[]);
    journal.start(1, 1, 1);
    journal.run(1, 1);
    let attempt = AttemptId(1);
    journal.result(EffectResult::CheckoutKept { attempt, reason: "a process uses it".to_owned() });
    let seen = journal.board.attempt(attempt).expect("the attempt");
    assert_eq!(seen.path.as_deref(), Some("/w/task-1"));
    assert_eq!(seen.kept.as_deref(), Some("a process uses it"));
    journal.push(Event::Abandoned { attempt, actor: Actor::Person });
    journal.result(EffectResult::CheckoutRemoved { attempt });
    let seen = journal.board.attempt(attempt).expect("the attempt");
    assert!(seen.abandoned && seen.kept.is_none());
    assert_eq!(seen.removed_at, Some(journal.now()));
}

#[test]
fn the_checks_of_the_base_are_known() {
    let mut journal = Journal::active();
    assert_eq!(journal.view().plans[0].base_check, BaseCheck::NotAsked);
    journal.push(Event::BaseCheckAsked { plan: PLAN });
    assert_eq!(journal.view().plans[0].base_check, BaseCheck::Running);
    let check = |command: &str, code| CheckResult {
        command: command.to_owned(),
        code,
        output: "much".to_owned(),
        took_ms: 5,
    };
    let checks =
        vec![check("make test", Some(0)), check("make lint", Some(1)), check("slow", None)];
    journal.result(EffectResult::BaseChecked { plan: PLAN, checks });
    let BaseCheck::Done { checks } = journal.view().plans[0].base_check.clone() else {
        panic!("the checks ran");
    };
    let passed: Vec<bool> = checks.iter().map(|it| it.passed).collect();
    assert_eq!(passed, [true, false, false]);
}

#[test]
fn a_settled_plan_is_shown_only_on_request_or_as_the_newest() {
    let mut journal = Journal::active();
    land(&mut journal);
    let shown = |journal: &Journal, scope| {
        let view = journal.board.view(journal.now(), scope);
        view.plans.iter().map(|it| it.id).collect::<Vec<_>>()
    };
    assert_eq!(shown(&journal, Scope::Current), [PLAN], "the newest");
    journal.plan(PlanId(2), head("next"));
    assert_eq!(shown(&journal, Scope::Current), [PlanId(2)]);
    assert_eq!(shown(&journal, Scope::All), [PLAN, PlanId(2)]);
    assert_eq!(shown(&journal, Scope::Only(PLAN)), [PLAN]);
    let landing = journal.board.plan_view(PLAN).expect("the plan").landing;
    assert_eq!(landing.status, LandingStatus::Merged);
    assert_eq!(landing.result.map(|it| it.commit), Some(commit('e')));
}

#[test]
fn times_are_those_of_the_entries() {
    let mut journal = Journal::active();
    journal.task(1, "core", "core", &[]);
    journal.start(1, 1, 1);
    journal.move_plan(PLAN, PlanStatus::Active, PlanStatus::Failed, "all failed");
    let plan = journal.board.plan_view(PLAN).expect("the plan");
    assert_eq!((plan.created_at, plan.ended_at), (Timestamp(1_000), Some(journal.now())));
    let task = journal.board.task_view(TaskId(1), journal.now()).expect("the task");
    assert_eq!((task.since, task.attempts[0].started_at), (Timestamp(7_000), Timestamp(8_000)));
    journal.move_plan(PLAN, PlanStatus::Failed, PlanStatus::Active, "retry");
    assert_eq!(journal.board.plan_view(PLAN).expect("the plan").ended_at, None);
}

#[test]
fn entries_that_do_not_fit_change_nothing() {
    let mut journal = Journal::active();
    let before = render(&journal.view());
    journal.start(9, 9, 1);
    journal.run(9, 9);
    journal.push(Event::TaskAdded {
        plan: PlanId(7),
        task: TaskId(9),
        spec: spec("stray", ""),
        depends_on: Vec::new(),
    });
    assert_eq!(render(&journal.view()), before);
}

fn tool_use() -> RequestKind {
    RequestKind::ToolUse {
        tool: ToolUse {
            title: "run".to_owned(),
            kind: "execute".to_owned(),
            paths: Vec::new(),
            outside: Vec::new(),
            command: Some("make".to_owned()),
            partial: false,
        },
        call: "call-1".to_owned(),
        options: vec![PermissionOption {
            id: "yes".to_owned(),
            kind: PermissionOptionKind::AllowOnce,
        }],
        actions: [].into(),
        action: None,
    }
}

fn decide(journal: &mut Journal, to: RequestStatus) {
    let (request, from) = (RequestId(1), RequestStatus::AtUser);
    journal.push(Event::RequestMoved { request, from, to, text: None, actor: Actor::Person });
}

fn work() -> Work {
    Work { commit: commit('c'), files_count: 2, insertions: 10, deletions: 3, files: Vec::new() }
}

fn turn(journal: &mut Journal, worker: u64, tokens_in: u64) {
    journal.result(EffectResult::TurnEnded {
        worker: WorkerId(worker),
        stop: StopReason::EndTurn,
        usage: Usage { tokens_in, ..Usage::default() },
        last_words: String::new(),
    });
}

fn land(journal: &mut Journal) {
    let landing = Landing {
        commit: commit('e'),
        at: LandedAt::Base { branch: "main".to_owned() },
        files_count: 1,
        insertions: 1,
        deletions: 0,
        commits_count: 1,
        before: None,
    };
    journal.result(EffectResult::Landed { plan: PLAN, landing });
    journal.push(Event::LandingMoved {
        plan: PLAN,
        from: LandingStatus::Merging,
        to: LandingStatus::Merged,
        reason: String::new(),
        actor: Actor::Orchestrator,
    });
}

#[test]
fn live_activity_is_shown_until_the_worker_ends() {
    let mut journal = Journal::active();
    journal.task(1, "t1", "core", &[]);
    journal.start(1, 1, 1);
    let worker = WorkerId(1);
    let shown = |journal: &Journal| {
        let view = journal.view();
        view.workers[0].activity.as_ref().map(|it| it.note.clone()).unwrap_or_default()
    };
    journal.push(Event::ActivityNoted { worker, note: "stored".to_owned() });
    journal.board.show_activity(worker, "live", Timestamp(99_000));
    assert_eq!(shown(&journal), "live");
    journal.push(Event::ActivityNoted { worker, note: "stored again".to_owned() });
    assert_eq!(shown(&journal), "stored again");
    journal.board.show_activity(worker, "live", Timestamp(99_000));
    journal.move_worker(1, WorkerStatus::Created, WorkerStatus::Killed);
    journal.board.show_activity(worker, "late", Timestamp(99_000));
    assert_eq!(shown(&journal), "stored again");
}
