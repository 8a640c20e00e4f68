//! Measures how long a program takes in a box and without one, in alternating rounds. The time
//! covers our own path from a policy to the end of `true`.
//!
//! This program is also the launcher.

use pitcrew_process::{
    Cancel, Net, Policy, Run, Tier, find_box, play_part, roots, run_confined, run_trusted,
};
use std::{
    env,
    error::Error,
    process::ExitCode,
    time::{Duration, Instant},
};

const ROUNDS: usize = 60;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<ExitCode> {
    if let Some(ended) = play_part(&env::args_os().skip(1).collect::<Vec<_>>()) {
        return Ok(ended);
    }
    let user = env::vars().collect();
    let bubblewrap = find_box(&user, &env::current_exe()?)
        .map_err(|it| format!("{}: {}", it.reason, it.remedy))?;
    let roots = roots(&user);
    let here = tempfile::tempdir()?;
    let boxed = Policy {
        tier: Tier::T3,
        read: roots.read,
        deny: roots.deny,
        write: vec![here.path().to_owned()],
        net: Net::None,
        bubblewrap,
        launcher: Some(env::current_exe()?),
        ..Policy::unconfined()
    };
    let run = || Run::new("true", here.path());
    let cancel = Cancel::default();
    let (mut plain, mut whole) = (Vec::new(), Vec::new());
    // The first round is a warm-up and is not counted.
    for round in 0..=ROUNDS {
        let took = [
            timed(|| Ok(run_trusted(run(), &cancel)?.success()))?,
            timed(|| Ok(run_confined(&boxed, run(), &cancel)?.success()))?,
        ];
        if round > 0 {
            plain.push(took[0]);
            whole.push(took[1]);
        }
    }
    let [plain, whole] = [plain, whole].map(median);
    println!(r#"{{"plain_ms":{plain:.1},"box_ms":{whole:.1},"more_ms":{:.1}}}"#, whole - plain);
    Ok(ExitCode::SUCCESS)
}

fn timed(work: impl FnOnce() -> Outcome<bool>) -> Outcome<Duration> {
    let began = Instant::now();
    if work()? { Ok(began.elapsed()) } else { Err("`true` failed".into()) }
}

/// Returns the median in milliseconds.
fn median(mut values: Vec<Duration>) -> f64 {
    values.sort_unstable();
    values[values.len() / 2].as_secs_f64() * 1e3
}
