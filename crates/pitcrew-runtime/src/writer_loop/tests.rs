//! The writer's thread with a disk that may be full.

use super::*;
use crate::{
    Handle, Views,
    full_disk::{Disk, DiskJournal},
    redact::Redactor,
};
use pitcrew_model::{
    Actor, Approval, Command, CommitId, CreatePlan, Effect, EffectId, EffectResult, Input,
    InputBody, Origin, PlanBase, PlanId, Rejection, Signal, TaskId, WorkerId,
};
use std::{thread, time::Duration};

struct Bench {
    handle: Handle,
    orders: mpsc::UnboundedReceiver<Order>,
    due: watch::Receiver<Option<Timestamp>>,
    disk: Disk,
    writer_loop: Option<(WriterLoop, Writer<DiskJournal>)>,
    thread: Option<thread::JoinHandle<Writer<DiskJournal>>>,
    _dir: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (inputs, inbox) = mpsc::channel(64);
        let (orders, ordered) = mpsc::unbounded_channel();
        let (due, due_changes) = watch::channel(None);
        let disk = Disk::default();
        let writer = Writer::open(DiskJournal::on(&disk), |_| {}).unwrap();
        let published = Arc::new(Published::new(Views::default(), Seq(0)));
        let log = Arc::new(Log::open(dir.path(), Redactor::new([], &[])).unwrap());
        let handle = Handle { inputs, published: published.clone() };
        let writer_loop = WriterLoop { inputs: inbox, published, orders, due, log };
        Self {
            handle,
            orders: ordered,
            due: due_changes,
            disk,
            writer_loop: Some((writer_loop, writer)),
            thread: None,
            _dir: dir,
        }
    }

    /// Everything sent before this is one batch.
    fn run(&mut self) {
        self.run_after(Vec::new());
    }

    fn run_after(&mut self, orders: Vec<Envelope>) {
        let (writer_loop, writer) = self.writer_loop.take().expect("it runs once");
        let (tell_first, first) = oneshot::channel();
        let first_words = InitialInputs { at: Timestamp(0), signals: Vec::new(), orders };
        tell_first.send(first_words).ok().unwrap();
        self.thread = Some(thread::spawn(move || writer_loop.run(writer, first)));
    }

    fn running() -> Self {
        let mut bench = Self::new();
        bench.run();
        bench
    }

    async fn order(&mut self) -> Order {
        let next = tokio::time::timeout(Duration::from_mins(1), self.orders.recv());
        next.await.expect("an order in time").expect("the writer is there")
    }

    fn has_base(&self) -> bool {
        let view = self.handle.views().board.plan_view(PlanId(1));
        view.is_some_and(|it| it.base.is_some())
    }

    async fn stop(mut self) {
        self.handle.stop().await;
        self.thread.take().expect("it runs").join().expect("it ends well");
    }
}

fn plan() -> Command {
    let text = "name = \"p\"\n[[task]]\nid = \"t\"\ncommand = \"true\"\n";
    let (settings, _) =
        pitcrew_config::Settings::load(&pitcrew_config::Sources::default()).unwrap();
    let parsed = pitcrew_config::parse_plan("p", text, &settings.plan_defaults()).unwrap();
    let (spec, origin, approval) = (parsed.spec, Origin::File, Approval::Given);
    Command::CreatePlan(CreatePlan {
        spec,
        origin,
        clean_base: false,
        approval,
        default_agent: None,
    })
}

fn prepared(effect: EffectId) -> Signal {
    let commit = CommitId("1".repeat(40));
    let base = PlanBase {
        branch: None,
        tip: commit.clone(),
        start: commit,
        dirty_count: 0,
        notes: Vec::new(),
        left_behind: pitcrew_model::LeftBehind::default(),
    };
    let result = EffectResult::PlanPrepared { plan: PlanId(1), base };
    Signal::EffectEnded { effect, result }
}

/// The rules in the files apply to commands that arrived while they were read.
#[tokio::test]
async fn initial_inputs_are_processed_before_queued_ones() {
    let mut bench = Bench::new();
    let handle = bench.handle.clone();
    let person = Command::SetAgentsMax { count: 7 };
    let waiting = tokio::spawn(async move { handle.command(Actor::Person, person).await });
    while bench.handle.inputs.capacity() > 63 {
        tokio::task::yield_now().await;
    }
    let own = Command::SetAgentsMax { count: 3 };
    let (order, verdict) = Envelope::command(Actor::Orchestrator, own);
    bench.run_after(vec![order]);
    let (first, then) = (verdict.await.unwrap().unwrap(), waiting.await.unwrap().unwrap());
    assert!(first.seq < then.seq, "{first:?} before {then:?}");
    bench.stop().await;
}

/// A driver sends each signal once: if it did not fit, it is retried later, before everything else.
#[tokio::test]
async fn a_signal_that_did_not_fit_is_stored_later() {
    let mut bench = Bench::running();
    bench.handle.command(Actor::Person, plan()).await.unwrap();
    let Order::Do(effect, _) = bench.order().await else { panic!("the plan is prepared") };

    bench.disk.fill();
    bench.handle.signal(prepared(effect)).await;
    let deploy = Command::SetAgentsMax { count: 7 };
    let refused = bench.handle.command(Actor::Person, deploy.clone()).await.unwrap_err();
    assert!(matches!(&refused, Rejection::JournalFull { message } if message.contains("/full")));
    assert!(!bench.has_base(), "only durable entries are visible");
    assert!(bench.handle.is_busy(), "a signal is still pending");
    let due = bench.due.borrow().expect("it is retried");
    assert!(due.0 > clock::now().0 + RETRY_MS / 2, "but not in a busy loop");

    let tries = bench.disk.tries();
    bench.handle.tick().await;
    // The answer comes after the tick.
    bench.handle.garbage().await;
    assert_eq!(bench.disk.tries(), tries + 1);
    bench.disk.free();
    bench.handle.tick().await;
    let Order::Do(_, checkout) = bench.order().await else { panic!("a checkout is made") };
    assert!(matches!(*checkout, Effect::PrepareCheckout { .. }), "{checkout:?}");
    assert!(bench.has_base());
    bench.handle.command(Actor::Person, deploy).await.unwrap();
    bench.stop().await;
}

/// Notes and ticks are not kept while the disk is full, because they would accumulate.
#[test]
fn only_signals_that_are_sent_once_are_kept() {
    let (worker, note) = (WorkerId(1), "x".to_owned());
    assert!(!must_retry(&InputBody::Tick));
    assert!(!must_retry(&InputBody::Signal(Signal::Activity { worker, note })));
    assert!(must_retry(&InputBody::Signal(prepared(EffectId(1)))));
}

/// An effect that starts and ends in one transaction is issued in that order.
#[tokio::test]
async fn effects_are_issued_in_journal_order() {
    let mut bench = Bench::new();
    let handle = bench.handle.clone();
    let created = tokio::spawn(async move { handle.command(Actor::Person, plan()).await });
    while bench.handle.inputs.capacity() == 64 {
        tokio::task::yield_now().await;
    }
    let input = Input { at: Timestamp(1), actor: Actor::Person, body: InputBody::Command(plan()) };
    let step = pitcrew_kernel::step(&mut State::default(), &input).unwrap();
    bench.handle.signal(prepared(step.effects[0].0)).await;
    let handle = bench.handle.clone();
    let cancel = Command::CancelTask { task: TaskId(1) };
    let cancelled = tokio::spawn(async move { handle.command(Actor::Person, cancel).await });
    while bench.handle.inputs.capacity() > 61 {
        tokio::task::yield_now().await;
    }
    bench.run();
    let created = created.await.unwrap().unwrap();
    let cancelled = cancelled.await.unwrap().unwrap();
    assert_eq!(bench.disk.tries(), 1, "one transaction");
    assert!(created.seq < cancelled.seq);
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.push(match bench.order().await {
            Order::Do(_, effect) => serde_json::to_value(&effect).unwrap()["effect"].to_string(),
            Order::Over(scope) => format!("over: {scope:?}"),
        });
    }
    let over = "over: Attempt(AttemptId(1))";
    assert_eq!(seen, ["\"prepare_plan\"", "\"prepare_checkout\"", over]);
    bench.stop().await;
}

/// Inputs before the stop are stored and answered; later ones are rejected with a message.
#[tokio::test]
async fn a_stop_keeps_earlier_inputs() {
    let mut bench = Bench::new();
    let handle = bench.handle.clone();
    let before = tokio::spawn(async move { handle.command(Actor::Person, plan()).await });
    while bench.handle.inputs.capacity() == 64 {
        tokio::task::yield_now().await;
    }
    bench.handle.stop().await;
    bench.run();
    assert!(before.await.unwrap().is_ok());
    let late = bench.handle.command(Actor::Person, plan()).await;
    assert_eq!(late.unwrap_err(), Rejection::ShuttingDown);
    bench.thread.take().unwrap().join().unwrap();
    assert!(bench.handle.views().board.plan_view(PlanId(1)).is_some());
}
