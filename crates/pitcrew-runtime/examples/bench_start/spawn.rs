//! Measures the time from a parent's spawn call to the first byte of the prompt at the sub-task's
//! agent, while the parent changes a file between two spawns.

use crate::{
    Outcome, agent_alone, git_in, make_repository, median, milliseconds, now, plan, start, timed,
    wait_until,
};
use pitcrew_model::{
    Actor, AgentRef, AttemptId, Command, EffectResult, Entry, Event, PlanId, Seq, SubtaskKind,
    SubtaskSpec, TaskId, TaskWork, Tier, WorkerId, WorkspaceMode, limits,
};
use pitcrew_runtime::Orchestrator;
use pitcrew_views::Scope;
use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

/// Including the first round, which is not counted, this is below the limit per worker.
const ROUNDS: usize = 8;

pub async fn measure(files: usize) -> Outcome<Vec<String>> {
    let dir = tempfile::tempdir()?;
    let root = dir.path().join("repository");
    make_repository(&root, files)?;
    let (orchestrator, recorded) = start(dir.path(), &root, Tier::T3)?;
    orchestrator.handle().command(Actor::Person, plan()?).await?;
    let view = || orchestrator.handle().views().board.plan_view(PlanId(1));
    wait_until(|| view().is_some_and(|it| it.base.is_some())).await?;
    let mut rows = Vec::new();
    for (task, workspace) in
        [(TaskId(1), WorkspaceMode::ReadOnly), (TaskId(2), WorkspaceMode::Isolated)]
    {
        let place = Place { dir: dir.path(), root: &root, prompted: recorded.join("prompted") };
        rows.push(rounds(&orchestrator, &place, task, workspace, files).await?);
    }
    orchestrator.stop().await;
    Ok(rows)
}

struct Place<'a> {
    dir: &'a Path,
    root: &'a Path,
    /// Waits until a prompted agent has recorded the time.
    prompted: PathBuf,
}

impl Place<'_> {
    async fn prompted(&self) -> Outcome<Duration> {
        wait_until(|| self.prompted.exists()).await?;
        let at = Duration::from_nanos(fs::read_to_string(&self.prompted)?.parse()?);
        fs::remove_file(&self.prompted)?;
        Ok(at)
    }
}

async fn rounds(
    orchestrator: &Orchestrator,
    place: &Place<'_>,
    task: TaskId,
    workspace: WorkspaceMode,
    files: usize,
) -> Outcome<String> {
    let handle = orchestrator.handle();
    handle.command(Actor::Person, Command::DeployTask { task }).await?;
    place.prompted().await?;
    let (attempt, worker, path) = parent(orchestrator, task)?;
    let (mut ours, mut git) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let name = format!("{workspace}-{round}");
        let worktree = place.dir.join(&name).display().to_string();
        let add = ["worktree", "add", "-q", "-b", &name, &worktree];
        let bare = timed(|| git_in(place.root, &add))?;
        let alone = agent_alone()?;
        fs::write(path.join("part0/file0.txt"), format!("state {round}\n"))?;
        let began = now();
        let subtasks = vec![spec(round, workspace)];
        let nonce = format!("{round:032}");
        let order = Command::SpawnSubtasks { attempt, subtasks, wait_ms: None, nonce };
        handle.command(Actor::Worker(worker), order).await?;
        let took = place.prompted().await?.saturating_sub(began);
        end_child(orchestrator, workspace).await?;
        // The first round fills caches and is not counted.
        if round > 0 {
            git.push(bare);
            ours.push(milliseconds(took) - alone);
        }
    }
    let (ours, git) = (median(&mut ours), median(&mut git));
    let ratio = ours / git;
    Ok(format!(
        r#"{{"files":{files},"workspace":"{workspace}","worktree_add_ms":{git:.1},"spawn_ms":{ours:.1},"ratio":{ratio:.2}}}"#
    ))
}

fn parent(orchestrator: &Orchestrator, task: TaskId) -> Outcome<(AttemptId, WorkerId, PathBuf)> {
    let views = orchestrator.handle().views();
    let view = views.board.task_view(task, pitcrew_runtime::now()).ok_or("no task")?;
    let attempt = view.newest_attempt().ok_or("no attempt")?;
    let path = attempt.path.clone().ok_or("no checkout")?;
    Ok((attempt.id, attempt.worker, path.into()))
}

/// Cancels the newest sub-task and waits until its agent is gone and its work is saved, so that the
/// next one does not wait for it.
async fn end_child(orchestrator: &Orchestrator, workspace: WorkspaceMode) -> Outcome<()> {
    let handle = orchestrator.handle();
    let board = || handle.views().board.view(pitcrew_runtime::now(), Scope::All);
    let child = board().subtasks.iter().map(|it| it.id).max().ok_or("no sub-task")?;
    handle.command(Actor::Person, Command::CancelTask { task: child }).await?;
    wait_until(|| board().workers.iter().filter(|it| it.task == child).all(|it| it.exit.is_some()))
        .await?;
    if workspace.is_borrowed() {
        return Ok(());
    }
    let (attempt, ..) = parent(orchestrator, child)?;
    let is_saved = |it: &Entry| {
        let Event::EffectEnded { result, .. } = &it.event else { return false };
        matches!(result, EffectResult::WorkSaved { attempt: saved, .. } if *saved == attempt)
    };
    let entries = || orchestrator.entries(Seq(0), usize::MAX).unwrap_or_default();
    wait_until(|| entries().iter().any(is_saved)).await
}

fn spec(round: usize, workspace: WorkspaceMode) -> SubtaskSpec {
    let (prompt, script) = (format!("part {round}"), "complete done".to_owned());
    SubtaskSpec {
        kind: SubtaskKind::Delegate,
        agent: AgentRef { backend: Some("builtin".into()), agent: None },
        work: TaskWork::Script { prompt, script },
        expected_output: String::new(),
        model: None,
        workspace: Some(workspace),
        target_files: Vec::new(),
        attempts_max: 1,
        timeout_ms: limits::TASK_TIMEOUT_MS_DEFAULT,
    }
}
