//! Measures the cost of a snapshot compared with `git status` on the same tree:
//! `cargo run --release -p pitcrew-git --example bench_snapshots`.

use pitcrew_git::{
    AttemptName, CheckoutKind, Git, Layout, PrepareCheckout, PreparePlan, Repository, TakeSnapshot,
    Vault,
};
use pitcrew_model::{AttemptId, PlanId, TaskId};
use pitcrew_process::{Cancel, Policy, Run, run_trusted};
use std::{
    error::Error,
    fs,
    path::Path,
    time::{Duration, Instant},
};

const ROUNDS: u32 = 15;

fn main() -> Result<(), Box<dyn Error>> {
    println!("files  unchanged  one file changed  git status   (ms, median of {ROUNDS})");
    for count in [200, 10_000] {
        measure(count)?;
    }
    Ok(())
}

fn measure(count: usize) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let (home, user) = (folder.path().join("home"), folder.path().join("repository"));
    fs::create_dir_all(&home)?;
    for number in 0..count {
        let file = user.join(format!("folder-{}/file-{number}", number / 100));
        fs::create_dir_all(file.parent().unwrap_or(&user))?;
        fs::write(file, format!("{number}\n").repeat(50))?;
    }
    let identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
    git(&home, &user, &["init", "--quiet", "--initial-branch=main"])?;
    git(&home, &user, &["add", "--all"])?;
    git(&home, &user, &[&identity[..], &["commit", "--quiet", "-m", "first"]].concat())?;

    let (cancel, policy) = (Cancel::default(), Policy::unconfined());
    let repository = Repository::discover(&Git::at_home(&home), &user, &cancel)?;
    let layout = Layout::beside(&repository, &folder.path().join("state"));
    let vault = Vault::open_or_create(repository, &layout, &cancel)?;
    let order = PreparePlan { plan: PlanId(1), base: None, clean_base: false, include: Vec::new() };
    let start = vault.prepare_plan(&order, &cancel).map_err(|it| it.to_string())?.start;
    let (attempt, plan, task, slug) = (AttemptId(1), PlanId(1), TaskId(1), String::from("x"));
    let name = AttemptName { attempt, plan, task, number: 1, slug };
    let order =
        PrepareCheckout { name, kind: CheckoutKind::Task, start: start.clone(), setup: Vec::new() };
    let path = vault
        .prepare_checkout(&order, &policy, &cancel, &|_| {})
        .map_err(|it| it.to_string())?
        .path;

    let base = start.clone();
    let mut order = TakeSnapshot { attempt, path, start, base, number: 1, last: None };
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for round in 0..=ROUNDS {
        fs::write(order.path.join("folder-0/file-0"), format!("round {round}\n"))?;
        let changed = clock(|| vault.take_snapshot(&order, &policy, &cancel));
        let taken = changed.1.map_err(|it| it.to_string())?.ok_or("something changed")?;
        order.last = Some(taken.commit);
        order.number += 1;
        let unchanged = clock(|| vault.take_snapshot(&order, &policy, &cancel));
        let status = clock(|| git(&home, &order.path, &["status", "--porcelain"]));
        for (times, took) in times.iter_mut().zip([unchanged.0, changed.0, status.0]) {
            times.push(took);
        }
    }
    let [unchanged, changed, status] = times.map(median);
    println!("{count:>5}  {unchanged:>9.1}  {changed:>16.1}  {status:>10.1}");
    Ok(())
}

fn clock<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let began = Instant::now();
    let result = work();
    (began.elapsed(), result)
}

/// The median in milliseconds. The first round is a warm-up.
fn median(mut times: Vec<Duration>) -> f64 {
    times.remove(0);
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1_000.0
}

fn git(home: &Path, place: &Path, args: &[&str]) -> Result<(), Box<dyn Error>> {
    let run = Run::new("git", place).args(args).env("HOME", home).env("GIT_CONFIG_NOSYSTEM", "1");
    let finished = run_trusted(run, &Cancel::default())?;
    if finished.success() { Ok(()) } else { Err(String::from_utf8_lossy(&finished.stderr).into()) }
}
