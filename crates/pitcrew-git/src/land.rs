//! Lands a plan: adds everything that was integrated to the base branch.
//!
//! If the plan started from the user's uncommitted work, that state is the merge base. It cancels
//! out, so no commit of it becomes part of the user's history.

use crate::{
    Vault,
    commits::{Signature, new_commits},
    error::{GitError, VaultError},
    git_dir::{Identity, PITCREW},
    history::{Built, plan_message},
    import::Checking,
    merge::Merge,
    names,
    scratch::{Trial, require_passed},
    user_branch::Moved,
};
use pitcrew_model::{
    CommitId, Failure, History, Hooks, LandedAt, LandedTask, Landing, PlanId, Sign, Unsigned,
};
use pitcrew_process::{Cancel, Policy};
use std::hash::{DefaultHasher, Hash, Hasher};

/// How often to retry if the base branch moves during a landing.
const TRIES_MAX: usize = 3;

#[derive(Clone, Debug)]
pub struct LandPlan {
    pub plan: PlanId,
    pub slug: String,
    pub title: String,
    /// The branch to land on. `None` if the plan did not start on a branch.
    pub branch: Option<String>,
    /// The commit that the tasks started from.
    pub start: CommitId,
    /// The commit that the user's branch was at when the plan started.
    pub tip: CommitId,
    /// The integration head.
    pub head: CommitId,
    pub setup: Vec<String>,
    pub checks: Vec<String>,
    pub history: History,
    /// Replaces the default message of the merge or squashed commit.
    pub message: Option<String>,
    pub hooks: Hooks,
    pub sign: Sign,
    /// What the person has signed.
    pub signed: Option<CommitId>,
    /// In the order in which they were integrated.
    pub tasks: Vec<LandedTask>,
}

/// Why a landing, or its undoing, has not changed the branch.
#[derive(Debug)]
pub enum Stopped {
    Failed(Failure),
    /// The commits have to be signed first.
    Unsigned(Unsigned),
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<GitError> for Stopped {
    fn from(error: GitError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<VaultError> for Stopped {
    fn from(error: VaultError) -> Self {
        Self::Failed(error.into())
    }
}

/// Commits that are ready to land.
struct Prepared {
    commit: CommitId,
    /// Whether this landing made them, or an earlier one.
    is_new: bool,
}

/// An earlier landing of the same plan.
struct LandedBefore {
    /// The integration head that was landed.
    head: CommitId,
    commit: CommitId,
    /// The number of tasks that it contains.
    tasks_count: usize,
}

impl Vault {
    /// Creates the landing commit and moves the base branch to it, or creates a separate branch for
    /// it.
    pub fn land(
        &self,
        order: &LandPlan,
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<Landing, Stopped> {
        let mut reason = String::new();
        for _ in 0..TRIES_MAX {
            let (tip, has_branch) = self.current_tip(order, cancel)?;
            let prepared = self.landing_commit(order, &tip, policy, cancel)?;
            let commit = self.signed_landing(order, &tip, prepared, cancel)?;
            let _exchange = self.exchange.lock().expect("no holder of the lock panics");
            fail::fail_point!("land-before-giving", |_| std::process::abort());
            self.give_to_user(&commit, &exchange_ref(order.plan), Checking::Off, cancel)?;
            fail::fail_point!("land-given", |_| std::process::abort());
            let moved = match &order.branch {
                None => Moved::No("the plan started from no branch".into()),
                Some(branch) if !has_branch => Moved::No(format!("the branch {branch} is gone")),
                Some(_) if commit == tip => Moved::Yes,
                Some(branch) => self.move_user_branch(branch, &tip, &commit, cancel)?,
            };
            fail::fail_point!("land-moved", |_| std::process::abort());
            reason = match (moved, &order.branch) {
                (Moved::Yes, Some(branch)) => {
                    let at = LandedAt::Base { branch: branch.clone() };
                    return self.finish_landing(order, &tip, commit, at, cancel);
                }
                (Moved::Yes, None) => unreachable!("no branch was moved"),
                (Moved::No(reason), _) => reason,
            };
            if has_branch && self.current_tip(order, cancel)?.0 != tip {
                continue;
            }
            let wanted = format!("pitcrew/{}-{}", order.plan, order.slug);
            let branch = self.set_side_branch(&wanted, &commit, cancel)?;
            let at = LandedAt::Side { branch, reason };
            return self.finish_landing(order, &tip, commit, at, cancel);
        }
        Err(Failure::Git { message: format!("the base branch keeps moving: {reason}") }.into())
    }

    /// The commit with the signature of the user, if one is needed.
    fn signed_landing(
        &self,
        order: &LandPlan,
        tip: &CommitId,
        Prepared { commit, is_new }: Prepared,
        cancel: &Cancel,
    ) -> Result<CommitId, Stopped> {
        let is_done = commit == *tip || !order.sign.is_terminal() || !self.user_signs(cancel)?;
        if is_done || self.commit_text(&commit, cancel)?.1 == Signature::There {
            return Ok(commit);
        }
        let below = self.below_landing(order, tip, cancel)?;
        let commits = new_commits(self.call("rev-list"), &commit, &below, cancel)?;
        if let Some(signed) = &order.signed {
            let name = format!("refs/pitcrew/signed/{}", order.plan);
            match self.take_signed(&name, (&commit, signed), &commits, cancel)? {
                Ok(()) => {
                    self.set_ref(&landing_ref(order.plan, &order.head), signed)?;
                    return Ok(signed.clone());
                }
                // The branch has moved, so other commits were signed.
                Err(_) if is_new => {}
                Err(difference) => {
                    let message = format!("what was signed is not what was prepared: {difference}");
                    return Err(Failure::Git { message }.into());
                }
            }
        }
        let _exchange = self.exchange.lock().expect("no holder of the lock panics");
        self.give_to_user(&commit, &exchange_ref(order.plan), Checking::Off, cancel)?;
        let commits_count = commits.len() as u64;
        Err(Stopped::Unsigned(Unsigned { commit, below, commits_count }))
    }

    /// The commits that a landing is on top of: the branch, where the plan started, and its earlier
    /// landing.
    fn below_landing(
        &self,
        order: &LandPlan,
        tip: &CommitId,
        cancel: &Cancel,
    ) -> Result<Vec<CommitId>, GitError> {
        let before = self.landed_before(order, tip, cancel)?.map(|it| it.commit);
        let mut below = vec![tip.clone(), order.tip.clone()];
        below.extend(before);
        below.dedup();
        Ok(below)
    }

    /// The commit that the base branch is at now, and whether the branch exists.
    fn current_tip(&self, order: &LandPlan, cancel: &Cancel) -> Result<(CommitId, bool), GitError> {
        let now = match &order.branch {
            Some(branch) => self.user.resolve(&format!("refs/heads/{branch}"), cancel)?,
            None => None,
        };
        Ok(now.map_or_else(|| (order.tip.clone(), false), |it| (it, true)))
    }

    /// The commit to land on `tip`, or `tip` itself if there is nothing to add.
    ///
    /// After a crash, this returns the same commit again, even if the branch has already been
    /// moved.
    fn landing_commit(
        &self,
        order: &LandPlan,
        tip: &CommitId,
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<Prepared, Failure> {
        self.bring(tip, &names::user_ref(order.plan), cancel)?;
        let made_before = |commit| Prepared { commit, is_new: false };
        let (made, below) = (landing_ref(order.plan, &order.head), below_ref(order));
        if let Some(commit) = self.resolve(&made, cancel)? {
            if self.is_ancestor(&commit, tip, cancel)? {
                return Ok(made_before(tip.clone()));
            }
            if self.resolve(&below, cancel)?.as_ref() == Some(tip) {
                return Ok(made_before(commit));
            }
        }
        let commit = self.make_landing(order, tip, cancel)?;
        if commit == *tip {
            return Ok(made_before(commit));
        }
        let commit = self.tried_landing(order, tip, commit, policy, cancel)?;
        fail::fail_point!("land-commit-made", |_| std::process::abort());
        self.set_ref(&below, tip)?;
        self.set_ref(&made, &commit)?;
        Ok(Prepared { commit, is_new: true })
    }

    /// Runs the checks on a result that they have not seen, and the hooks of the user, which may
    /// change messages.
    fn tried_landing(
        &self,
        order: &LandPlan,
        tip: &CommitId,
        commit: CommitId,
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<CommitId, Failure> {
        let is_seen = self.tree(&commit, cancel)? == self.tree(&order.head, cancel)?;
        let checks = if is_seen { &[] } else { order.checks.as_slice() };
        let hooks = if order.hooks.are_run() { self.user_hooks(cancel)? } else { None };
        let Some(hooks) = hooks else {
            let name = format!("{}-landing", order.plan);
            let setup = &order.setup;
            let trial = Trial { name, setup, checks, near: &order.head, attempt: None };
            require_passed(&self.try_out(&trial, None, || Ok(commit.clone()), policy, cancel)?.1)?;
            return Ok(commit);
        };
        let below = self.below_landing(order, tip, cancel)?;
        let commits = new_commits(self.call("rev-list"), &commit, &below, cancel)?;
        let (order, tried) = ((order, &hooks), (checks, commits.as_slice()));
        let messages = self.try_hooks(order, (tip, &commit), tried, policy, cancel)?;
        Ok(self.with_messages(&commit, &messages, &commits, cancel)?)
    }

    /// Creates the commits on top of `tip` in the requested form of history.
    fn make_landing(
        &self,
        order: &LandPlan,
        tip: &CommitId,
        cancel: &Cancel,
    ) -> Result<CommitId, Failure> {
        let landed = self.landed_before(order, tip, cancel)?;
        let identity = self.user_identity(cancel)?;
        let identity = identity.as_ref().map_or(PITCREW, |(name, email)| Identity { name, email });
        let tasks = &order.tasks[landed.as_ref().map_or(0, |it| it.tasks_count)..];
        if order.history == History::Linear && !tasks.is_empty() {
            return match self.task_commits(tip, tasks, identity, cancel)? {
                Built::Chain(chain) => Ok(chain.end),
                Built::Conflict(paths) => Err(Failure::Conflict { paths, with: Vec::new() }),
            };
        }
        // If the plan started from the user's uncommitted work, that work cancels out.
        let from_snapshot = (order.start != order.tip).then_some(&order.start);
        let base = landed.as_ref().map(|it| &it.head).or(from_snapshot);
        let tree = match self.merge(tip, &order.head, base, None, cancel)? {
            Merge::Clean(tree) => tree,
            Merge::Conflict(paths) => return Err(Failure::Conflict { paths, with: Vec::new() }),
        };
        if tree == self.tree(tip, cancel)? {
            return Ok(tip.clone());
        }
        let mut parents = vec![tip];
        let from = landed.as_ref().map_or(&order.tip, |it| &it.commit);
        let side = match order.history {
            History::Merge => self.task_commits(from, tasks, identity, cancel)?,
            History::Squash | History::Linear => Built::Conflict(Vec::new()),
        };
        // If a task cannot be separated from the user's uncommitted work, everything is one commit.
        if let Built::Chain(chain) = &side
            && chain.count > 0
        {
            parents.push(&chain.end);
        }
        Ok(self.commit_tree(&tree, &parents, &plan_message(order), identity, cancel)?)
    }

    /// The last landing of this plan that the branch contains.
    fn landed_before(
        &self,
        order: &LandPlan,
        tip: &CommitId,
        cancel: &Cancel,
    ) -> Result<Option<LandedBefore>, GitError> {
        for (index, task) in order.tasks.iter().enumerate().rev() {
            let made = landing_ref(order.plan, &task.merged);
            let Some(commit) = self.resolve(&made, cancel)? else { continue };
            if self.is_ancestor(&commit, tip, cancel)? {
                let head = task.merged.clone();
                return Ok(Some(LandedBefore { head, commit, tasks_count: index + 1 }));
            }
        }
        Ok(None)
    }

    fn finish_landing(
        &self,
        order: &LandPlan,
        tip: &CommitId,
        commit: CommitId,
        at: LandedAt,
        cancel: &Cancel,
    ) -> Result<Landing, Stopped> {
        self.take_from_user(&exchange_ref(order.plan))?;
        // If the branch had already been moved, compare with the commit that it was moved from.
        let landed = self.resolve(&landing_ref(order.plan, &order.head), cancel)?;
        let (from, commit) = match landed {
            Some(landed) if commit == *tip => {
                let before = self.resolve(&below_ref(order), cancel)?;
                (before.unwrap_or_else(|| tip.clone()), landed)
            }
            Some(_) | None => (tip.clone(), commit),
        };
        fail::fail_point!("land-before-answer", |_| std::process::abort());
        let counted = self.count_changes(&from, &commit, cancel)?;
        let commits_count = self.count_commits(&from, &commit, cancel)?;
        Ok(Landing {
            commit,
            at,
            files_count: counted.changes.len() as u64,
            insertions: counted.insertions,
            deletions: counted.deletions,
            commits_count,
            before: Some(from),
        })
    }

    fn count_commits(
        &self,
        from: &CommitId,
        to: &CommitId,
        cancel: &Cancel,
    ) -> Result<u64, GitError> {
        let count =
            self.call("rev-list").args(["--count", &format!("{from}..{to}")]).line(cancel)?;
        Ok(count.trim().parse().unwrap_or(0))
    }
}

/// The ref of the landing commit of an integration head. A retry finds it again.
pub(crate) fn landing_ref(plan: PlanId, head: &CommitId) -> String {
    format!("refs/pitcrew/landings/{plan}/{head}")
}

/// The branch tip below a landing of this form and message. Another form is built anew.
fn below_ref(order: &LandPlan) -> String {
    let mut form = DefaultHasher::new();
    (order.history as u8, &order.message, order.hooks).hash(&mut form);
    format!("refs/pitcrew/landed-on/{}/{}-{:016x}", order.plan, order.head, form.finish())
}

/// The ref that keeps the commit in the user's repository until a branch has it.
pub(crate) fn exchange_ref(plan: PlanId) -> String {
    format!("refs/pitcrew/land/{plan}")
}
