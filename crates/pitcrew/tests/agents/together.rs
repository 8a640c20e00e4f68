//! A plan whose tasks use different vendors.

use crate::support::with_crew;
use pitcrew_model::TaskStatus;
use pitcrew_testkit::crew::{Cast, four_tasks};

/// S3-070: three kinds of agents on four tasks, with a permission that a person approves, a check
/// that fails and is fixed, an edit outside the region that the gate refuses, a model error, a kill
/// of the orchestrator in the middle of a turn that is not prompted twice, and a cancel.
#[test]
fn agents_of_different_vendors_share_one_plan() {
    let test = "together::agents_of_different_vendors_share_one_plan";
    with_crew(test, &["goose", "claude"], |crew| {
        let cast = Cast { fixes: "goose", asks: "claude", strays: "goose" };
        let found = four_tasks(crew, cast);
        found.hold_all_of_the_plan();
        assert_eq!(crew.task("built-in").status, TaskStatus::Completed);
        let said = crew.conversation("fixes");
        assert!(said.contains("I begin."), "{said}");
        let [goose, claude] = ["fixes", "asks"].map(|it| crew.task(it).usage);
        // All tokens that their models reported, and the cost of one of them.
        let (reported_in, reported_out) = crew.model.tokens_reported("# Task fixes (");
        assert!(reported_in > 0 && goose.tokens_in >= reported_in, "{reported_in}: {goose:?}");
        assert!(reported_out > 0 && goose.tokens_out >= reported_out, "{reported_out}: {goose:?}");
        let (reported_in, reported_out) = crew.model.tokens_reported("# Task asks (");
        assert!(claude.tokens_in + claude.tokens_cached >= reported_in, "{claude:?}");
        assert!(claude.tokens_out >= reported_out && claude.cost_micros > 0, "{claude:?}");
        crew.sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0);
        assert_eq!(crew.sandbox.read("core/port.txt"), "8080\n");
        assert_eq!(crew.sandbox.read("docs/seen.txt"), "three\n");
        assert_eq!(crew.sandbox.read("lib/four.txt"), "four\n");
        assert_eq!(crew.sandbox.read("other/five.txt"), "five\n");
    });
}
