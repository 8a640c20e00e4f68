//! Lands a plan: adds everything that was integrated to the base branch.
//!
//! If the plan started from the user's uncommitted work, that state is the merge base. It cancels
//! out, so no commit of it becomes part of the user's history.

use crate::{
    Vault,
    error::GitError,
    git_dir::{Identity, PITCREW},
    history::{Built, plan_message},
    import::Checking,
    merge::Merge,
    names,
    scratch::{Trial, require_passed},
    user_branch::Moved,
};
use pitcrew_model::{CommitId, Failure, History, LandedAt, LandedTask, Landing, PlanId};
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
    /// In the order in which they were integrated.
    pub tasks: Vec<LandedTask>,
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
    ) -> Result<Landing, Failure> {
        let mut reason = String::new();
        for _ in 0..TRIES_MAX {
            let (tip, has_branch) = self.current_tip(order, cancel)?;
            let commit = self.landing_commit(order, &tip, policy, cancel)?;
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
        Err(Failure::Git { message: format!("the base branch keeps moving: {reason}") })
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
    ) -> Result<CommitId, Failure> {
        self.bring(tip, &names::user_ref(order.plan), cancel)?;
        let (made, below) = (landing_ref(order.plan, &order.head), below_ref(order));
        if let Some(commit) = self.resolve(&made, cancel)? {
            if self.is_ancestor(&commit, tip, cancel)? {
                return Ok(tip.clone());
            }
            if self.resolve(&below, cancel)?.as_ref() == Some(tip) {
                return Ok(commit);
            }
        }
        let commit = self.make_landing(order, tip, cancel)?;
        if commit == *tip {
            return Ok(commit);
        }
        if self.tree(&commit, cancel)? != self.tree(&order.head, cancel)? {
            let (setup, checks) = (&order.setup, &order.checks);
            let name = format!("{}-landing", order.plan);
            let trial = Trial { name, setup, checks, near: &order.head, attempt: None };
            require_passed(&self.try_out(&trial, None, || Ok(commit.clone()), policy, cancel)?.1)?;
        }
        fail::fail_point!("land-commit-made", |_| std::process::abort());
        self.set_ref(&below, tip)?;
        self.set_ref(&made, &commit)?;
        Ok(commit)
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
    ) -> Result<Landing, Failure> {
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

    /// The user's name and e-mail address from their git settings.
    fn user_identity(&self, cancel: &Cancel) -> Result<Option<(String, String)>, GitError> {
        let get = |key| self.user.call("config").args(["--get", key]).maybe(cancel);
        Ok(match (get("user.name")?, get("user.email")?) {
            (Some(name), Some(email)) if !name.trim().is_empty() => Some((name, email)),
            _ => None,
        })
    }
}

/// The ref of the landing commit of an integration head. A retry finds it again.
fn landing_ref(plan: PlanId, head: &CommitId) -> String {
    format!("refs/pitcrew/landings/{plan}/{head}")
}

/// The branch tip below a landing of this form and message. Another form is built anew.
fn below_ref(order: &LandPlan) -> String {
    let mut form = DefaultHasher::new();
    (order.history as u8, &order.message).hash(&mut form);
    format!("refs/pitcrew/landed-on/{}/{}-{:016x}", order.plan, order.head, form.finish())
}

/// The ref that keeps the commit in the user's repository until a branch has it.
fn exchange_ref(plan: PlanId) -> String {
    format!("refs/pitcrew/land/{plan}")
}
