//! Prepares a confined program before it may start: its egress process and its box.

use super::{Finished, Run, RunError, Started, Stdin, begin, cancelled, end};
use crate::{
    Cancel, Policy, Tier, confine, confine::Scratch, egress::Outlet, ends::Ends, environment,
    marker::Mark, process_counter::ProcessCounter,
};
use std::{io, time::Duration};

/// An egress process for several programs in sequence. It ends when this is dropped.
#[derive(Debug)]
pub struct Way {
    /// The policy for the programs that use it.
    pub policy: Policy,
    _outlet: Option<Outlet>,
}

/// Starts the egress process that the policy requires. Otherwise each program gets its own.
pub fn open_way(policy: &Policy) -> io::Result<Way> {
    let (outlet, policy) = Outlet::open(policy)?;
    Ok(Way { policy, _outlet: outlet })
}

/// A program that has not started. If this is dropped, the program never starts.
#[derive(Debug)]
pub struct Prepared {
    run: Run,
    policy: Policy,
    mark: Mark,
    ends: Ends,
    started: Option<Started>,
    // Both end after the program.
    _outlet: Option<Outlet>,
    _home: Option<Scratch>,
}

/// Creates the box of a program that `go` will run like `run_confined`. Does not wait for the box.
/// Without a box, nothing is started yet.
///
/// The files that the program works on may still be created afterwards, but their folders must
/// exist. The calling thread must live until the program has ended: a box dies with the thread that
/// started it.
pub fn prepare(policy: &Policy, run: Run) -> Result<Prepared, RunError> {
    let ends = match run.stdin {
        Stdin::Bytes(_) => Ends::awaited(policy),
        Stdin::File(..) => Ends::Inherited,
    };
    let mut prepared = Prepared::new(policy, run, ends)?;
    if ends == Ends::Awaited {
        prepared.started = Some(begin(&prepared.run, Some(prepared.mark.clone()))?);
    }
    Ok(prepared)
}

/// Like `prepare`, for a program that waits for its first input before it does anything else.
pub fn prepare_waiting(policy: &Policy, run: Run) -> Result<Prepared, RunError> {
    let mut prepared = Prepared::new(policy, run, Ends::Inherited)?;
    if policy.tier == Tier::T3 {
        prepared.started = Some(begin(&prepared.run, Some(prepared.mark.clone()))?);
    }
    Ok(prepared)
}

impl Prepared {
    pub(super) fn new(policy: &Policy, mut run: Run, ends: Ends) -> Result<Self, RunError> {
        let failed = |error| RunError::new(&run.argv, &run.cwd, error);
        let (outlet, mut policy) = Outlet::open(policy).map_err(failed)?;
        if policy.tier > Tier::T1 {
            // The launcher applies the policy's limit before the program runs.
            let limits = [policy.limits.memory_bytes, run.memory_bytes_max.take()];
            policy.limits.memory_bytes = limits.into_iter().flatten().min();
        }
        let home = Scratch::open(&mut policy).map_err(failed)?;
        let mark = Mark::new(&policy);
        let env = environment::confined(&policy, run.env.clone(), &mark.text);
        let wrapped = confine::wrap(&policy, &run.argv, &run.cwd, env, ends).map_err(failed)?;
        (run.argv, run.env) = (wrapped.argv, wrapped.env);
        Ok(Self { run, policy, mark, ends, started: None, _outlet: outlet, _home: home })
    }

    /// Starts the program and waits for its end, at most for `timeout`.
    pub fn go(mut self, timeout: Duration, cancel: &Cancel) -> Result<Finished, RunError> {
        self.run.timeout = timeout;
        self.finish(cancel, &mut |_| {})
    }

    pub(super) fn finish(
        self,
        cancel: &Cancel,
        observe: &mut dyn FnMut(&[u8]),
    ) -> Result<Finished, RunError> {
        if cancel.is_cancelled() {
            return Ok(cancelled());
        }
        let Self { mut run, policy, mark, ends, started, _outlet, _home } = self;
        if let (Ends::Awaited, Stdin::Bytes(bytes)) = (ends, &mut run.stdin) {
            // The byte that the launcher waits for.
            bytes.insert(0, 0);
        }
        let started = match started {
            Some(started) => started,
            None => begin(&run, Some(mark))?,
        };
        let finished = end(started, run, ProcessCounter::of(&policy), cancel, observe)?;
        let (code, signal) = confine::decode_exit(&policy, finished.code, finished.signal);
        Ok(Finished { code, signal, ..finished })
    }
}
