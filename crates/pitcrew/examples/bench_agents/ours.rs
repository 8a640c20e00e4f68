//! Pitcrew's side: a plan with one task, and its times from the journal.

use super::{BenchResult, Setup, Side, TurnTimes, script};
use pitcrew_model::{EffectResult, Event};
use rusqlite::{Connection, OpenFlags};

pub fn run(scene: &Setup, round: usize) -> BenchResult<TurnTimes> {
    let sandbox = &scene.crew.sandbox;
    let file = format!("core/ours-{round}.txt");
    let script = script(&file, Side::Ours);
    let plan = sandbox.plan(&format!(
        "name = \"round\"\nmax_attempts = 1\n[[task]]\nid = \"t\"\nregion = \"core\"\nagent = \"{}\"\nchecks = [\"grep -q hello {file}\"]\nprompt = '''\n{script}'''\n",
        scene.name
    ));
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    let events = newest_events(scene)?;
    let at = |what: &str, is: &dyn Fn(&EffectResult) -> bool| -> BenchResult<f64> {
        // The newest matching event, because earlier rounds come first.
        let found = events.iter().rfind(|it| {
            let Event::EffectEnded { result, .. } = &it.1 else { return false };
            is(result)
        });
        Ok(found.ok_or_else(|| format!("nothing was {what}"))?.0)
    };
    let began = at("checked out", &|it| matches!(it, EffectResult::CheckoutPrepared { .. }))?;
    let ready = at("ready", &|it| matches!(it, EffectResult::AgentReady { .. }))?;
    let turned = at("said", &|it| matches!(it, EffectResult::TurnEnded { .. }))?;
    let done = at("integrated", &|it| matches!(it, EffectResult::Integrated { .. }))?;
    Ok(TurnTimes { start: ready - began, turn: turned - ready, commit: done - turned })
}

/// The latest events with their time in milliseconds. The log of a plan omits some.
fn newest_events(scene: &Setup) -> BenchResult<Vec<(f64, Event)>> {
    let state = scene.crew.sandbox.states().into_iter().next().ok_or("there is no state")?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let journal = Connection::open_with_flags(state.join("journal.db"), flags)?;
    let mut select = journal.prepare("SELECT at, body FROM events ORDER BY seq DESC LIMIT 200")?;
    let mut rows = select.query([])?;
    let mut events = Vec::new();
    while let Some(row) = rows.next()? {
        let body: String = row.get(1)?;
        events.push((row.get(0)?, serde_json::from_str(&body)?));
    }
    events.reverse();
    Ok(events)
}
