//! Bugs that a person could make, to be planted one at a time. The simulator has to find each.

/// A change of the product that must not go unnoticed.
pub struct Mutant {
    pub name: &'static str,
    pub file: &'static str,
    /// Found once in the file.
    pub find: &'static str,
    pub replace: &'static str,
    /// What the person who made it did not think of.
    pub bug: &'static str,
}

macro_rules! mutants {
    ($($name:literal in $file:literal: $bug:literal; $find:literal => $replace:literal)*) => {
        &[$(Mutant { name: $name, file: $file, find: $find, replace: $replace, bug: $bug }),*]
    };
}

pub const MUTANTS: &[Mutant] = mutants!(
    "effects go out though nothing was stored" in "crates/pitcrew-writer/src/writer.rs":
        "the batch is not dropped when the disk is full, so drivers begin what nobody will remember";
        "            batch = Batch::default();\n" => ""

    "full disk answers yes" in "crates/pitcrew-writer/src/writer.rs":
        "callers are told their verdicts before it is known whether they are durable";
        "            verdicts = verdicts.into_iter().map(refused).collect();" =>
        "            verdicts = verdicts.into_iter().map(|it| it.or_else(refused)).collect();"

    "scratch is kept on a full disk" in "crates/pitcrew-writer/src/writer.rs":
        "the state that was decided on is not taken back when the append is refused";
        "            self.scratch = self.durable.clone();\n" => ""

    "state moves before the append" in "crates/pitcrew-writer/src/writer.rs":
        "the durable state is folded first, as if the append could not fail";
        "        let stored = self.append(&batch);\n" =>
        "        for entry in &batch.entries {\n            evolve(&mut self.durable, entry);\n        }\n        let stored = self.append(&batch);\n        if stored.is_ok() {\n            return Committed { verdicts, entries: batch.entries, effects: batch.effects, is_stored: true };\n        }\n"

    "effects alone are not stored" in "crates/pitcrew-writer/src/writer.rs":
        "the outbox is written apart from the events, and the process dies in between";
        "        match self.journal.append(batch) {" =>
        "        let batch = &Batch { entries: batch.entries.clone(), effects: Vec::new() };\n        match self.journal.append(batch) {"

    "only the last open effect goes out again" in "crates/pitcrew-writer/src/reissue.rs":
        "of the effects before a cut only one is sent";
        "            while let Some(effect) = effects.next_if(|it| it.0.0 < seq.0) {" =>
        "            if let Some(effect) = effects.next_if(|it| it.0.0 < seq.0) {"

    "open effects do not go out again" in "crates/pitcrew-writer/src/reissue.rs":
        "what comes after the last cut is forgotten";
        "        effects.map(begin).for_each(order);\n" => "        drop((effects, order));\n"

    "cuts come before what they cut" in "crates/pitcrew-writer/src/reissue.rs":
        "all cuts are sent first, and then everything runs to its end";
        "effects.next_if(|it| it.0.0 < seq.0)" => "effects.next_if(|it| it.0.0 < seq.0 && false)"

    "results of closed effects count" in "crates/pitcrew-kernel/src/decide/effect_ended.rs":
        "a result that comes twice is taken twice";
        "    if !state.effects.contains(&effect) {" => "    if effect.0 == 0 {"

    "overlapping regions run side by side" in "crates/pitcrew-kernel/src/settle.rs":
        "the region is asked of the plan that allows overlaps";
        "*overlap == pitcrew_model::Overlap::Allow || !agenda.regions.is_held(*key)" =>
        "*overlap == pitcrew_model::Overlap::Wait || !agenda.regions.is_held(*key)"

    "a folder above is not an overlap" in "crates/pitcrew-kernel/src/state/regions.rs":
        "only what is below a region is looked at, not what it is below of";
        "above || self.something_below_is_held" => "self.held.contains_key(path) || self.something_below_is_held"

    "a region is released when work is verified" in "crates/pitcrew-kernel/src/evolve/task.rs":
        "the region is given back before its work is in the branch";
        "    match (from.in_attempt(), to.in_attempt()) {" =>
        "    let working = |it: TaskStatus| it.in_attempt() && it != TaskStatus::Verifying && it != TaskStatus::Integrating;\n    match (working(from), working(to)) {"

    "a waiting worker keeps its slot" in "crates/pitcrew-kernel/src/state/agenda.rs":
        "the slot is freed at the end of a worker only";
        "matches!(status, WorkerStatus::Created | WorkerStatus::Starting | WorkerStatus::Running)" =>
        "!status.has_ended()"

    "one slot too many" in "crates/pitcrew-kernel/src/settle.rs":
        "off by one where tasks are started";
        "if agenda.slots_used >= state.agents_max ||" => "if agenda.slots_used > state.agents_max ||"

    "processes are not limited" in "crates/pitcrew-kernel/src/settle.rs":
        "parked workers keep their processes, and nobody counts them";
        " || agenda.processes_count >= state.agents_live_max {" => " {"

    "one attempt too many" in "crates/pitcrew-kernel/src/decide/attempt_fails.rs":
        "the attempt that just failed is not counted";
        "task.attempts_spent + 1 < task.attempts_granted" => "task.attempts_spent < task.attempts_granted"

    "an interruption costs an attempt" in "crates/pitcrew-kernel/src/decide/attempt_fails.rs":
        "what the orchestrator did to the agent is taken for the agent's fault";
        "    task.is_free(failure) || task.attempts_spent + 1" => "    task.attempts_spent + 1"

    "a back-off is not waited for" in "crates/pitcrew-kernel/src/settle.rs":
        "the time in the queue is not compared with the clock";
        "    let (at, task) = state.agenda.to_queue.first()?;\n    if *at > now {" =>
        "    let (at, task) = state.agenda.to_queue.first()?;\n    if *at > now.plus(60_000) {"

    "cancelling a plan leaves tasks" in "crates/pitcrew-kernel/src/decide/cancel.rs":
        "cancelling a plan forgets what waits for its turn";
        "        if !status.has_ended() && status != TaskStatus::Integrating {" =>
        "        if status.in_attempt() && status != TaskStatus::Integrating {"

    "work is merged two at a time" in "crates/pitcrew-kernel/src/state/agenda.rs":
        "what is being integrated does not keep the next from being verified";
        "let free = it.merging.is_none() && it.base_check == BaseCheck::Done;" =>
        "let free = (it.merging.is_none() || it.merge_queue.len() > 1)\n            && it.base_check == BaseCheck::Done;"

    "the base check is not awaited" in "crates/pitcrew-kernel/src/state/agenda.rs":
        "work is called red before it is known what was red already";
        "let free = it.merging.is_none() && it.base_check == BaseCheck::Done;" =>
        "let free = it.merging.is_none();"

    "a dependency counts when it is verified" in "crates/pitcrew-kernel/src/evolve/task.rs":
        "dependents start from a branch that lacks what they depend on";
        "    let completed = to == TaskStatus::Completed;" =>
        "    let completed = to == TaskStatus::Verifying && from == TaskStatus::Running;"

    "unblocking is forgotten" in "crates/pitcrew-kernel/src/state/agenda.rs":
        "a retried dependency leaves its dependents blocked";
        "            TaskStatus::Blocked if task.blocking_count == 0 => Due::Unblock,\n" => ""

    "what an ended agent left is not saved" in "crates/pitcrew-kernel/src/decide/effect_ended.rs":
        "an attempt that failed is over with its process, and its work stays where it is";
        "return attempt_fails::save(attempt).filter(|_| !saved)" =>
        "return attempt_fails::save(attempt).filter(|_| !saved && attempt.claim.is_some())"

    "an attempt is put away when it ends" in "crates/pitcrew-kernel/src/evolve/attempt.rs":
        "the next attempt begins while the last one's process is still being stopped";
        "    row.put_away = row.work.is_some() || row.checkout == Checkout::Gone || is_untouched;" =>
        "    row.put_away = row.work.is_some() || row.checkout != Checkout::Coming || is_untouched;"

    "a plan ends under its last task" in "crates/pitcrew-kernel/src/evolve/task.rs":
        "a task that is being verified is taken for ended";
        "    !status.has_ended() && status != TaskStatus::Blocked\n" =>
        "    !status.has_ended() && !matches!(status, TaskStatus::Blocked | TaskStatus::Verifying)\n"

    "requests are not withdrawn" in "crates/pitcrew-kernel/src/decide/attempt_fails.rs":
        "a person is asked on behalf of a worker that is gone";
        "    let mut events = withdraw_requests(state, worker.id);" =>
        "    let mut events = Vec::new();"

    "calls outlive their turn" in "crates/pitcrew-kernel/src/decide/turn_ended.rs":
        "permission is asked for a call that nobody waits for any more";
        "    let mut events = attempt_fails::withdraw_tool_uses(state, worker);" =>
        "    let mut events = Vec::new();"

    "a worker that is done runs out of time" in "crates/pitcrew-kernel/src/evolve/worker.rs":
        "the deadline of an agent that is being stopped stands";
        "        it.process = Process::Stopping;\n        it.deadline = None;\n" =>
        "        it.process = Process::Stopping;\n"

    "time runs on for the parked" in "crates/pitcrew-kernel/src/evolve/worker.rs":
        "a worker that waits for a person runs out of time";
        "        } else if let Some(deadline) = it.deadline.take() {" =>
        "        } else if let Some(deadline) = it.deadline {"

    "everybody is too late at once" in "crates/pitcrew-kernel/src/settle.rs":
        "the deadline is compared the wrong way round";
        "    if *deadline > now {" => "    if *deadline <= now {"

    "a turn begins in a turn" in "crates/pitcrew-kernel/src/state.rs":
        "what a worker goes on with does not wait for the end of its turn";
        "self.resumptions.front().filter(|_| self.turn.is_none())" => "self.resumptions.front()"

    "an answer is lost" in "crates/pitcrew-kernel/src/evolve/worker.rs":
        "a worker that is answered has nothing to go on with";
        "    if let Some(resumption) = resumption {\n        will_return(state, worker, resumption);" =>
        "    if let Some(resumption) = resumption.filter(|it| matches!(it, Resumption::Permission { .. })) {\n        will_return(state, worker, resumption);"

    "a denied call is allowed" in "crates/pitcrew-kernel/src/evolve/worker.rs":
        "the verdict is heard, and not which one it was";
        "        RequestStatus::Denied | RequestStatus::Expired => Allow::No," =>
        "        RequestStatus::Denied | RequestStatus::Expired => Allow::Yes,"

    "a second answer counts" in "crates/pitcrew-kernel/src/decide/decide_request.rs":
        "what was decided is decided again";
        "    if !it.status.is_open() {" => "    if it.status == RequestStatus::Withdrawn {"

    "a paused plan begins turns" in "crates/pitcrew-kernel/src/decide/effect_ended.rs":
        "an agent that becomes ready in a paused plan is prompted";
        "    if state.plan_of(attempt).status == PlanStatus::Paused {" =>
        "    if state.plan_of(attempt).status == PlanStatus::Draft {"

    "a paused plan returns workers" in "crates/pitcrew-kernel/src/state/agenda.rs":
        "an answer wakes a worker of a plan that holds still";
        "            && self.plan_of(attempt).status == PlanStatus::Active\n" => ""

    "a paused plan starts tasks" in "crates/pitcrew-kernel/src/state/agenda.rs":
        "only a cancelled plan is taken for one that does not run";
        "let runs = plan.status == PlanStatus::Active && plan.base.is_some();" =>
        "let runs = plan.status != PlanStatus::Cancelled && plan.base.is_some();"

    "the limit stays what it was" in "crates/pitcrew-kernel/src/evolve.rs":
        "a new number of agents is stored and not heeded";
        "        Event::AgentsMaxSet { count } => state.agents_max = *count," =>
        "        Event::AgentsMaxSet { count } => state.agents_max = (*count).max(state.agents_max),"

    "a completed task is cancelled" in "crates/pitcrew-kernel/src/decide/cancel.rs":
        "what is being integrated is cancelled, and is in the branch all the same";
        "    if it.status == TaskStatus::Integrating || !it.status.may_become(TaskStatus::Cancelled) {" =>
        "    if !it.status.may_become(TaskStatus::Cancelled) {"

    "cancelled work is integrated" in "crates/pitcrew-kernel/src/decide/effect_ended.rs":
        "work that was cancelled while it was verified goes on to the branch";
        "    } else if !is_accepted(state, it) {" => "    } else if state.tasks.is_empty() {"

    "work is collected under a live agent" in "crates/pitcrew-kernel/src/decide/complete_task.rs":
        "the agent's word is taken at once, without waiting for its end";
        "            events.push(Event::StopAsked { worker });" =>
        "            events.push(Event::CollectAsked { attempt });"

    "a task starts before its plan is approved" in "crates/pitcrew-kernel/src/decide/create_plan.rs":
        "a plan that has to be approved is opened as soon as it is there";
        "    let given = it.approval == Approval::Given && actor == Actor::Person;" =>
        "    let given = it.approval == Approval::Given || it.spec.tasks.len() > 1;"

    "a limit is over early" in "crates/pitcrew-kernel/src/settle.rs":
        "whoever waits for a provider is woken a minute before the time that was told";
        "    let is_over = |it: Timestamp| it <= now;" =>
        "    let is_over = |it: Timestamp| it <= now.plus(60_000);"

    "a limit stops only who met it" in "crates/pitcrew-kernel/src/state/agenda.rs":
        "the other tasks of the backend start, and meet the limit one by one";
        "runs && self.held_vendor(task).is_none() && !self.is_over_budget(task) =>" =>
        "runs && !self.is_over_budget(task) =>"

    "who met a limit is forgotten" in "crates/pitcrew-kernel/src/evolve/worker.rs":
        "a worker is parked with nothing that it could go on with";
        "            go_on_after(it, TurnCause::QuotaOver);\n" => ""

    "a limit costs an attempt" in "crates/pitcrew-kernel/src/state.rs":
        "a task whose agent could not be started for a limit fails after three of them";
        "            Failure::Interrupted | Failure::Quota { .. } | Failure::Unreachable { .. }\n" =>
        "            Failure::Interrupted | Failure::Unreachable { .. }\n"

    "the task that tries waits with the others" in "crates/pitcrew-kernel/src/state.rs":
        "nothing of a backend starts while one of its tasks tries to reach the provider";
        "let probes = row.probe.is_some_and(|it| it.task == task.id);" =>
        "let probes = row.probe.is_none();"

    "a task starts over its cap" in "crates/pitcrew-kernel/src/state/agenda.rs":
        "only workers are stopped by a cap, and the next attempt goes on using";
        "runs && self.held_vendor(task).is_none() && !self.is_over_budget(task) =>" =>
        "runs && self.held_vendor(task).is_none() =>"

    "a cap stops one worker" in "crates/pitcrew-kernel/src/settle/budget.rs":
        "the cap of a plan interrupts the worker that reached it, and the others go on";
        "    for worker in state.workers_in(scope) {" =>
        "    for worker in state.workers_in(scope).take(1) {"

    "what was told is counted again at the end" in "crates/pitcrew-kernel/src/evolve/budget.rs":
        "the end of a turn tells the whole, and what was told on the way is in it";
        "        noted(state, worker, usage);" => "        count(state, worker, Usage::NONE, usage);"

    "usage can shrink" in "crates/pitcrew-kernel/src/decide/budget.rs":
        "an agent that tells less than before gets it back";
        "    let usage = it.reported.at_least(usage);" => ""

    "more is granted than was asked for" in "crates/pitcrew-kernel/src/evolve/budget.rs":
        "denying raises the cap too";
        "    if to == RequestStatus::Approved {" => "    if to != RequestStatus::AtUser {"

    "nobody takes a question back" in "crates/pitcrew-kernel/src/settle.rs":
        "a person is asked for more for the sake of what was cancelled";
        "        .or_else(|| budget::withdraw(state))\n" => ""

    "who is done waits at its cap" in "crates/pitcrew-kernel/src/state/agenda.rs":
        "a worker that is done and waits for a last answer is never let go on";
        "!(attempt.claim.is_none() && self.is_over_budget(&self.tasks[attempt.task]))" =>
        "!self.is_over_budget(&self.tasks[attempt.task])"

    "a turn that failed has read its messages" in "crates/pitcrew-kernel/src/decide/turn_ended.rs":
        "what was in the prompt of a turn is taken for read, however the turn ended";
        "        StopReason::Refusal | StopReason::Cancelled | StopReason::Error { .. } => false," =>
        "        StopReason::Refusal | StopReason::Cancelled | StopReason::Error { .. } => true,"

    "a message is tried once too often" in "crates/pitcrew-kernel/src/state/mail.rs":
        "off by one where a message goes back";
        "it.tries_count < limits::MESSAGE_TRIES_MAX" => "it.tries_count <= limits::MESSAGE_TRIES_MAX"

    "workers wait for each other" in "crates/pitcrew-kernel/src/decide/ask.rs":
        "only who asks back at once is found, not who is asked over a third";
        "            paths.push((asked, path));" => "            drop((asked, path));"

    "critical ones come last" in "crates/pitcrew-kernel/src/state/mail.rs":
        "false stands before true";
        "(self.message.priority != Priority::Critical, self.presses_at" =>
        "(self.message.priority == Priority::Critical, self.presses_at"

    "nobody is woken" in "crates/pitcrew-kernel/src/settle.rs":
        "a message waits for a turn that nobody begins";
        "        .or_else(|| mail::wake(state, now))\n" => ""

    "a message is sent to the dead" in "crates/pitcrew-kernel/src/evolve/worker.rs":
        "the mail of a worker that has ended stays where it is, and its questions stay open";
        "        message::worker_ended(state, worker);\n" => ""

    "the name of a message is forgotten" in "crates/pitcrew-kernel/src/evolve/message.rs":
        "what is sent again is queued again";
        "        state.mail.boxes.entry(task).or_default().learn(&key);\n" => "        drop((task, key));\n"

    "children outlive their parent" in "crates/pitcrew-kernel/src/evolve/subtask.rs":
        "nobody looks for the sub-tasks of an attempt that has ended";
        "    state.agenda.orphans.extend(open);\n" => "    drop(open);\n"

    "who waits keeps the slot" in "crates/pitcrew-kernel/src/settle.rs":
        "parents that wait hold the slots that their children need";
        "        .or_else(|| subtask::park(state))\n" => ""

    "an answer leaves out what has ended" in "crates/pitcrew-kernel/src/settle/subtask.rs":
        "the call is answered, and nobody notes that its results were told";
        "    let mut events = hand_results(state, worker, |it| tasks.contains(&it));\n    events.push(wait_ended" =>
        "    let mut events = hand_results(state, worker, |it| !tasks.contains(&it));\n    events.push(wait_ended"

    "a wait takes a minute longer" in "crates/pitcrew-kernel/src/settle/subtask.rs":
        "the time that was asked for is not the time that is waited";
        "state.agenda.waits.iter().take_while(|it| it.0 <= now)" =>
        "state.agenda.waits.iter().take_while(|it| it.0.plus(60_000) <= now)"

    "done while others work" in "crates/pitcrew-kernel/src/decide/complete_task.rs":
        "only a partial claim is held against what was handed out";
        "    if claim != Claim::Failed && !it.family" => "    if claim == Claim::Partial && !it.family"

    "a call is never given up" in "crates/pitcrew-kernel/src/settle.rs":
        "a wait whose turn is over stays, and with it whoever asked";
        "        .or_else(|| subtask::drop_wait(state))\n" => ""

    "what a child uses is nobody's" in "crates/pitcrew-kernel/src/evolve/budget.rs":
        "the use of a sub-task does not reach those above it";
        "state.chain(task).map" => "state.chain(task).take(1).map"

    "depth ends at one" in "crates/pitcrew-kernel/src/decide/spawn_safety.rs":
        "whoever is deep already is counted as the first below";
        "state.depth_of(&state.tasks[parent.task]) + 1" => "state.depth_of(&state.tasks[parent.task]).min(0) + 1"

    "a parent allows what it does not hold" in "crates/pitcrew-kernel/src/decide/decide_for_child.rs":
        "what the parent held when it was asked may have been revoked since";
        "verdict == Verdict::Approve && !bubble::holds" => "verdict == Verdict::Deny && !bubble::holds"

    "anybody is a parent" in "crates/pitcrew-kernel/src/decide/decide_for_child.rs":
        "a worker decides the requests of other workers' sub-tasks";
        "    if state.parent_of(task).map(|it| it.id) != Some(parent.id) {" =>
        "    if state.parent_of(task).is_none() {"

    "a parent decides what stands at a person" in "crates/pitcrew-kernel/src/decide/decide_for_child.rs":
        "what has gone past the parent can still be answered by it";
        "    if status != RequestStatus::AtParent {" => "    if !status.is_open() {"

    "every parent is asked" in "crates/pitcrew-kernel/src/decide/bubble.rs":
        "a request stands at a parent that would have to ask for it itself";
        "        && state.judge(parent.task, tool).rule == Rule::AutoApprove" =>
        "        && state.judge(parent.task, tool).rule != Rule::AutoDeny"

    "a parent that is asked sleeps on" in "crates/pitcrew-kernel/src/evolve.rs":
        "a parent that waits for its sub-tasks does not hear that one of them asks it";
        "            permission::tell_parent(state, *request);\n" => ""

    "a parent has for ever" in "crates/pitcrew-kernel/src/evolve/permission.rs":
        "a request stays at a parent that never answers";
        "        RequestStatus::AtParent => Some(limits::PARENT_DECIDES_MS)," =>
        "        RequestStatus::AtParent => Some(limits::PARENT_DECIDES_MS).filter(|_| false),"

    "a query has for ever" in "crates/pitcrew-kernel/src/settle/query.rs":
        "nobody looks when the time of a query is over";
        "    (until <= now).then(" => "    (until <= now && state.plans.is_empty()).then("

    "queries cost what they like" in "crates/pitcrew-kernel/src/query.rs":
        "the budget of a worker is not compared with what another owner would cost";
        "    if worker + own < wanted {" => "    if worker + own < wanted && wanted == 0 {"

    "queries wait in a circle" in "crates/pitcrew-kernel/src/query/owners.rs":
        "an owner is asked that waits for the asker";
        "} else if state.is_waiting_for(worker.id, it.worker) {" =>
        "} else if state.is_waiting_for(worker.id, it.worker) && it.symbol.is_empty() {"

    "what an owner said outlives its edits" in "crates/pitcrew-kernel/src/state/queries.rs":
        "an answer is kept by its name alone";
        "(attempt.is_open() && self.version_of(saying.owner) == saying.version).then_some(saying)" =>
        "attempt.is_open().then_some(saying)"

    "a query outlives its turn" in "crates/pitcrew-kernel/src/evolve/worker.rs":
        "the owner of what an ended turn asked for is asked all the same";
        "    query::asker_changed(state, worker);\n" => ""

    "a dead owner is waited for" in "crates/pitcrew-kernel/src/evolve/message.rs":
        "a query stays at an owner that will not read it";
        "    query::message_ended(state, message);\n" => ""

    "who asks keeps the slot" in "crates/pitcrew-kernel/src/settle.rs":
        "an owner that needs a slot to answer waits for the one who asked it";
        "        .or_else(|| query::park(state))\n" => ""

    "who was answered stays parked" in "crates/pitcrew-kernel/src/evolve/query.rs":
        "an answer has come, and nobody lets the asker go on";
        "        if is_parked && !asks {" => "        if is_parked && asks {"

    "clients hand out what is denied" in "crates/pitcrew-kernel/src/decide/spawn_standalone.rs":
        "the rules of the house are written down, and nobody looks at them";
        "    denied(&subtasks, rules)?;\n" => "    denied(&[], rules)?;\n"

    "a check that was cut short counts" in "crates/pitcrew-kernel/src/state/agenda.rs":
        "work is verified though nobody knows what is red on the base";
        "let free = it.merging.is_none() && it.base_check == BaseCheck::Done;" =>
        "let free = it.merging.is_none()\n            && matches!(it.base_check, BaseCheck::Done | BaseCheck::Unknown);"

    "clients hand out without end" in "crates/pitcrew-kernel/src/decide/spawn_standalone.rs":
        "what goes on already is not counted with what is asked for";
        "    if count.saturating_add(asked) > max {" => "    if count.min(asked) > max {"

    "a worker hands out without end" in "crates/pitcrew-kernel/src/decide/spawn_safety.rs":
        "only what is asked for now is compared with what may be handed out in all";
        "    if count.saturating_add(asked) > may.total_max {" => "    if asked > may.total_max {"

    "a minute lasts a second" in "crates/pitcrew-kernel/src/decide/spawn_safety.rs":
        "what was handed out a second ago is taken for long ago";
        "at.since(**it) < MINUTE_MS);" => "at.since(**it) < MINUTE_MS / 60);"

    "what is repeated costs nothing" in "crates/pitcrew-kernel/src/evolve/subtask.rs":
        "a worker repeats its sub-tasks as often as it likes";
        "    family.retries_count += 1;\n" => ""

    "too many of a parent run at once" in "crates/pitcrew-kernel/src/state/family.rs":
        "the limit that was built in is asked, not the one of the files";
        "            parallel_max: limits.subtasks_parallel," =>
        "            parallel_max: limits.subtasks_parallel.max(5),"

    "anybody's work is ended" in "crates/pitcrew-kernel/src/decide/authority.rs":
        "a worker ends what somebody else has handed out";
        "        Command::CancelTask { task } => owns(state, worker, *task)," =>
        "        Command::CancelTask { task } => state.task(*task).map(drop),"

    "the dead are done" in "crates/pitcrew-kernel/src/decide/complete_task.rs":
        "the word of an agent counts whose process is being ended";
        "    if !it.is_open() || worker.process != Process::Alive {" => "    if !it.is_open() {"

    "whoever asked for permission hears nothing" in "crates/pitcrew-kernel/src/state/agenda.rs":
        "a worker is parked for a call that is over, and nobody wakes it for the answer to a question";
        "                | WorkerStatus::WaitingPermission\n" => ""

    "a plan is landed unasked" in "crates/pitcrew-kernel/src/decide/land_plan.rs":
        "who lands without having agreed is not asked";
        "    let asks = rule == Rule::AskUser && !given;" =>
        "    let asks = rule == Rule::AskUser && !given && it.tasks.len() > 1;"

    "what is denied is landed" in "crates/pitcrew-kernel/src/decide/decide_request.rs":
        "a person says no, and the branch is merged";
        "                Verdict::Deny => LandingStatus::None," =>
        "                Verdict::Deny => LandingStatus::Merging,"

    "what nobody may change is taken" in "crates/pitcrew-kernel/src/react.rs":
        "the zone of a task does not name what the plan denies";
        "denied: plan.head.denied.clone() }" => "denied: Vec::new() }"

    "what a reader changes is taken" in "crates/pitcrew-kernel/src/react.rs":
        "a sub-task of a client that only reads may change what it likes";
        "    if plan.only_reads(task) {\n" => "    if false {\n"

    "a guest is taken for the owner" in "crates/pitcrew-kernel/src/react.rs":
        "an agent in the checkout of its parent is started as if it were alone there";
        "Some(WorkspaceMode::Shared) => CheckoutRole::Guest," => "Some(WorkspaceMode::Shared) => CheckoutRole::Owner,"

    "an answer waits to be landed" in "crates/pitcrew-kernel/src/settle.rs":
        "a plan whose sub-tasks only read is left for a person to see to";
        "    events.extend(answered(state, plan, to));\n" => ""

    "anything is handed on" in "crates/pitcrew-kernel/src/decide/spawn_safety.rs":
        "a sub-task is given files that its parent does not have";
        "            Standing::Own(_) | Standing::Shared(_) => {}\n" =>
        "            Standing::Own(_) | Standing::Shared(_) => {}\n            Standing::Outside if !path.as_str().is_empty() => {}\n"

    "an agent starts in whatever box there is" in "crates/pitcrew-kernel/src/decide/effect_ended.rs":
        "the machine confines less than when the attempt was opened";
        "    if let Err(failure) = sandbox::check(state) {\n" =>
        "    if let Some(failure) = sandbox::check(state).err().filter(|_| state.plans.is_empty()) {\n"

    "text is cut anywhere" in "crates/pitcrew-model/src/text.rs":
        "a character is longer than a byte";
        "    let mut end = bytes_max;\n    while !text.is_char_boundary(end) {" =>
        "    let mut end = bytes_max;\n    while end > text.len() {"

    "a start goes on in whatever box there is" in "crates/pitcrew-kernel/src/decide/apply_sandbox.rs":
        "what the last orchestrator had begun to start is started by the next one";
        "    let is_starting = |status| status == WorkerStatus::Starting;" =>
        "    let is_starting = |status| status == WorkerStatus::Created;"
);
