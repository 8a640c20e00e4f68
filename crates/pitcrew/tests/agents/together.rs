//! A plan whose tasks name different vendors.

use crate::support::with_crew;
use pitcrew_model::{Failure, RefusalKind, TaskStatus};

const PLAN: &str = r#"
name = "together"

[[task]]
id = "built-in"
region = "ui"
script = '''
write ui/three.txt <<END
three
END
complete wrote it
'''

[[task]]
id = "mends"
agent = "goose"
region = "core"
max_attempts = 2
prompt = '''
@write core/port.txt 8081
@complete wrote the port
@when did not succeed
@write core/port.txt 8080
@complete mended the port
'''
checks = "grep -q 8080 core/port.txt"

[[task]]
id = "asks"
agent = "claude"
region = "docs"
depends_on = ["built-in"]
prompt = '''
@bash mkdir -p docs && cat ui/three.txt > docs/seen.txt
@complete looked at what the other did
'''
checks = "grep -q three docs/seen.txt"

[[task]]
id = "strays"
agent = "goose"
region = "lib"
max_attempts = 1
prompt = '''
@write lib/mine.txt mine
@write docs/yours.txt yours
@complete wrote both
'''
"#;

/// S3-070: a permission that a person gives, a check that fails and is mended, and an edit
/// outside the region, which the gate refuses.
#[test]
fn agents_of_different_vendors_work_on_one_plan() {
    let test = "together::agents_of_different_vendors_work_on_one_plan";
    with_crew(test, &["goose", "claude"], |crew| {
        let plan = crew.sandbox.plan(PLAN);
        let running = crew.sandbox.start(&["run", &plan, "--yes"]);
        let request = crew.await_request();
        assert!(request.title.contains("docs/seen.txt"), "{}", request.title);
        crew.sandbox.pitcrew(&["approve", "asks"]).expect(0);
        running.wait().expect(4).says("3 of 4 completed");
        for (key, attempts_count) in [("built-in", 1), ("mends", 2), ("asks", 1)] {
            let task = crew.task(key);
            let ended = (task.status, task.attempts.len());
            assert_eq!(ended, (TaskStatus::Completed, attempts_count), "{key}");
        }
        let Failure::Gate { refusals, .. } = crew.failure("strays") else {
            panic!("{:?}", crew.failure("strays"))
        };
        let refused: Vec<_> = refusals.iter().map(|it| (it.path.as_str(), it.kind)).collect();
        assert_eq!(refused, [("docs/yours.txt", RefusalKind::OutsideZone)]);
        crew.sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0);
        assert_eq!(crew.sandbox.read("core/port.txt"), "8080\n");
        assert_eq!(crew.sandbox.read("docs/seen.txt"), "three\n");
        assert!(!crew.sandbox.repo().join("docs/yours.txt").exists());
        assert!(!crew.sandbox.repo().join("lib").exists());
    });
}
