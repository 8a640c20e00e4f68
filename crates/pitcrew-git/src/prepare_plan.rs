//! Resolves the base of a plan and creates its integration branch.

use crate::{
    Vault,
    changes::Change,
    names,
    records::{self, Durability},
    user_snapshot::{UserSnapshot, listed},
};
use pitcrew_model::{CommitId, Failure, PlanBase, PlanId, RepoPath};
use pitcrew_process::Cancel;

#[derive(Clone, Debug)]
pub struct PreparePlan {
    pub plan: PlanId,
    /// A branch or commit. `None` for the current branch.
    pub base: Option<String>,
    /// Reject uncommitted changes instead of including them.
    pub clean_base: bool,
    /// Uncommitted paths to include even if they look like secrets.
    pub include: Vec<RepoPath>,
}

/// The base that the user requested.
struct Base {
    branch: Option<String>,
    tip: CommitId,
    /// Whether the user's working tree is at this commit.
    has_tree: bool,
}

impl Vault {
    /// Imports the base into the vault and creates the plan's integration branch on it.
    ///
    /// Repeated calls for the same plan return the same base.
    pub fn prepare_plan(&self, order: &PreparePlan, cancel: &Cancel) -> Result<PlanBase, Failure> {
        let record = self.records().plan(order.plan);
        if let Some(base) = records::read::<PlanBase>(&record)? {
            return Ok(base);
        }
        self.require_checkouts()?;
        let _exchange = self.exchange.lock().expect("no holder of the lock panics");
        let Base { branch, tip, has_tree } = self.find_base(order.base.as_deref(), cancel)?;
        self.bring(&tip, &names::user_ref(order.plan), cancel)?;
        let snapshot = if has_tree {
            self.snapshot_user(&tip, &order.include, cancel)?
        } else {
            UserSnapshot::default()
        };
        if order.clean_base && !snapshot.is_clean() {
            return Err(dirty(&snapshot));
        }
        let UserSnapshot { commit, changes, left_behind, notes: more } = snapshot;
        let (start, dirty_count) = (commit.unwrap_or_else(|| tip.clone()), changes.len() as u64);
        let mut notes = self.source_notes();
        notes.extend(more);
        // The next plan continues from the tip, and not from the snapshot.
        self.publish(&tip, cancel)?;
        self.publish(&start, cancel)?;
        self.set_ref(&names::start_ref(order.plan), &start)?;
        self.set_ref(&names::head_ref(order.plan), &start)?;
        fail::fail_point!("plan-before-record", |_| std::process::abort());
        let base = PlanBase { branch, tip, start, dirty_count, notes, left_behind };
        records::write(&record, &base, Durability::PowerLoss)?;
        Ok(base)
    }

    /// Fails unless checkouts can be created.
    fn require_checkouts(&self) -> Result<(), Failure> {
        let Some(obstacle) = self.layout.obstacle() else { return Ok(()) };
        let folder = self.layout.checkouts.display();
        let message = format!(
            "no folder can be created at `{folder}`: {obstacle}; set `worktrees` in your settings, \
             or PITCREW_WORKTREES, to a folder that you may write to"
        );
        Err(Failure::Checkout { message })
    }

    fn find_base(&self, base: Option<&str>, cancel: &Cancel) -> Result<Base, Failure> {
        let current = self.user.current_branch(cancel)?;
        let Some(name) = base.filter(|it| *it != "HEAD") else {
            let tip = self.user.resolve("HEAD", cancel)?.ok_or_else(|| Failure::Git {
                message: "the current branch has no commit yet: make the first one".into(),
            })?;
            return Ok(Base { branch: current, tip, has_tree: true });
        };
        let branch = name.strip_prefix("refs/heads/").unwrap_or(name);
        if let Some(tip) = self.user.resolve(&format!("refs/heads/{branch}"), cancel)? {
            let has_tree = current.as_deref() == Some(branch);
            return Ok(Base { branch: Some(branch.to_owned()), tip, has_tree });
        }
        match self.user.resolve(name, cancel)? {
            Some(tip) => Ok(Base { branch: None, tip, has_tree: false }),
            None => Err(Failure::Git {
                message: format!(
                    "base `{name}` is neither a branch nor a commit of {}: see `git branch --all`",
                    self.user.root().display()
                ),
            }),
        }
    }

    /// Notes about the repository for a person.
    fn source_notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.user.is_shallow() {
            notes.push(
                "the repository is a shallow clone: history before its edge is not in the vault"
                    .into(),
            );
        }
        if self.settings.is_partial {
            notes.push(
                "the repository is a partial clone: files that git never downloaded are missing \
                 in checkouts; `git fetch --refetch --no-filter` gets them"
                    .into(),
            );
        }
        let attributes = std::fs::read_to_string(self.user.root().join(".gitattributes"));
        if attributes.is_ok_and(|it| it.contains("filter=lfs")) {
            notes.push("files in git LFS are pointers in checkouts".into());
        }
        notes
    }
}

fn dirty(snapshot: &UserSnapshot) -> Failure {
    let behind = snapshot.left_behind.files.iter().map(|it| it.path.clone());
    let paths: Vec<String> = snapshot.changes.iter().map(Change::path_text).chain(behind).collect();
    Failure::Git {
        message: format!(
            "the working tree has uncommitted changes: {}; commit or stash them, or leave out \
             `--base HEAD` to start from a snapshot of them",
            listed(&paths)
        ),
    }
}
