//! One round: a fresh home, the scene, and a fault.

use super::{
    killer::{Trouble, Victim},
    picture::{Picture, check_rest},
    scene::{self, Acknowledged, Help},
};
use pitcrew_testkit::{Process, Running, Sandbox, eventually};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

/// No process of a round may be alive this long after its end.
const LEFT_TIME_MAX: Duration = Duration::from_secs(2);

/// The result of a round.
pub struct Played {
    pub picture: Picture,
    /// The duration of the scene.
    pub took: Duration,
    /// The point was reached, or a victim was killed.
    pub struck: Vec<String>,
    /// From each start of a command after a kill to its answer.
    pub ready: Vec<Duration>,
}

/// A failed round.
pub struct Broken {
    pub message: String,
    /// The folder to examine.
    pub folder: PathBuf,
}

/// Runs a round, and compares its result with that of the `reference`, if there is one.
pub fn play(
    binary: &Path,
    trouble: &Trouble,
    reference: Option<&Played>,
) -> Result<Played, Broken> {
    let mut sandbox = scene::prepare(binary);
    let folder = sandbox.root().to_owned();
    let played = catch_unwind(AssertUnwindSafe(|| try_to_play(&mut sandbox, trouble, reference)));
    if played.is_err() {
        sandbox.keep();
    }
    // It complains about remaining processes, which were checked before.
    let closed = catch_unwind(AssertUnwindSafe(|| drop(sandbox)));
    let broken = |panic: Box<dyn std::any::Any + Send>| Broken {
        message: words(&*panic),
        folder: folder.clone(),
    };
    let played = played.map_err(broken)?;
    closed.map_err(broken)?;
    Ok(played)
}

fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|it| (*it).to_owned())).unwrap_or_default()
}

fn try_to_play(sandbox: &mut Sandbox, trouble: &Trouble, reference: Option<&Played>) -> Played {
    let usual = reference.map_or(Duration::ZERO, |it| it.took);
    let at_point = match trouble {
        Trouble::Point { name, visit } => Some(serve_until(sandbox, name, *visit)),
        Trouble::None | Trouble::Kills(_) => None,
    };
    let help = match trouble {
        Trouble::Kills(kills) if kills.iter().any(|it| needs_help(it.victim)) => Help::Retries,
        Trouble::None | Trouble::Point { .. } | Trouble::Kills(_) => Help::Never,
    };
    let sandbox = &*sandbox;
    let began = Instant::now();
    let (acknowledged, (struck, ready)) = thread::scope(|scope| {
        let (over, is_over) = channel::<()>();
        let troubling = scope.spawn(move || match trouble {
            Trouble::None => (Vec::new(), Vec::new()),
            Trouble::Point { .. } => await_point(sandbox, at_point.as_ref(), &is_over),
            Trouble::Kills(kills) => {
                let (mut struck, mut ready) = (Vec::new(), Vec::new());
                for kill in kills {
                    if is_over.recv_timeout(usual * kill.after / 1_000)
                        != Err(RecvTimeoutError::Timeout)
                    {
                        break;
                    }
                    let victims = kill.victim.kill(sandbox);
                    if matches!(kill.victim, Victim::Orchestrator | Victim::Everything)
                        && !victims.is_empty()
                    {
                        ready.extend(time_to_answer(sandbox));
                    }
                    struck.extend(victims);
                }
                (struck, ready)
            }
        });
        let acknowledged = scene::play(sandbox, help);
        drop(over);
        (acknowledged, troubling.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    let took = began.elapsed();
    if help == Help::Retries {
        // A checkout whose last state could not be saved is kept and reported.
        sandbox.pitcrew(&["gc"]).expect(0);
    }
    let picture = finish(sandbox, &acknowledged);
    if let Some(reference) = reference {
        assert!(picture == reference.picture, "it ends differently: {picture:#?}");
    }
    Played { picture, took, struck, ready }
}

/// Killing a program under the orchestrator fails its effect, which may fail a whole plan.
fn needs_help(victim: Victim) -> bool {
    match victim {
        Victim::Git | Victim::Shim | Victim::Everything => true,
        Victim::Orchestrator | Victim::Client => false,
    }
}

/// Starts an orchestrator that aborts at a point. Later ones do not.
fn serve_until(sandbox: &mut Sandbox, name: &str, visit: usize) -> Running {
    let before = visit - 1;
    let action = if before == 0 { "return".into() } else { format!("{before}*off->return") };
    sandbox.set("FAILPOINTS", &format!("{name}={action}"));
    let serving = sandbox.start(&["serve"]);
    sandbox.unset("FAILPOINTS");
    eventually("it serves, or is dead already", || {
        (serving.is_over() || serving.notes().contains("serving ")).then_some(())
    });
    serving
}

/// Waits until the orchestrator aborts, or the scene ends.
fn await_point(
    sandbox: &Sandbox,
    serving: Option<&Running>,
    is_over: &Receiver<()>,
) -> (Vec<String>, Vec<Duration>) {
    let serving = serving.expect("a round with a point has an orchestrator of its own");
    let look_every = Duration::from_millis(5);
    while is_over.recv_timeout(look_every) == Err(RecvTimeoutError::Timeout) {
        if serving.is_over() {
            return (vec!["itself".into()], time_to_answer(sandbox).into_iter().collect());
        }
    }
    (Vec::new(), Vec::new())
}

/// How long a command takes that has to start an orchestrator.
fn time_to_answer(sandbox: &Sandbox) -> Option<Duration> {
    let began = Instant::now();
    let answered = sandbox.pitcrew(&["status"]);
    (answered.code == Some(0)).then(|| began.elapsed())
}

/// Ends the round, and checks all invariants.
fn finish(sandbox: &Sandbox, acknowledged: &Acknowledged) -> Picture {
    let board = scene::board(sandbox).expect("the board is shown");
    sandbox.pitcrew(&["stop"]).expect(0);
    let root = sandbox.root().display().to_string();
    let until = Instant::now() + LEFT_TIME_MAX;
    loop {
        let left = Process::naming(&root);
        let Some((process, _)) = left.first() else { break };
        let time_left = until.saturating_duration_since(Instant::now());
        assert!(!time_left.is_zero(), "processes are left: {left:?}");
        process.await_end(Duration::from_secs(1).min(time_left));
    }
    let read = check_rest(sandbox, acknowledged);
    Picture::take(sandbox, &board, read)
}
