//! A handshake with a real agent.

use crate::support::with_crew;

/// The agent is started as for a task, and its model is not called.
#[test]
fn goose_handshake_calls_no_model() {
    with_crew("handshake::goose_handshake_calls_no_model", &["goose"], |crew| {
        let met = crew.sandbox.pitcrew(&["backends", "test", "goose", "--json"]).expect(0).json();
        assert_eq!(met["ready"], true, "{met}");
        let modes = met["modes"]["offered"].as_array().cloned().unwrap_or_default();
        assert!(modes.contains(&"approve".into()), "{met}");
        assert_eq!(crew.model.calls_count(), 0);
        let listed = crew.sandbox.pitcrew(&["backends", "--json"]).expect(0).json();
        let goose =
            listed["backends"].as_array().and_then(|it| it.iter().find(|it| it["name"] == "goose"));
        let goose = goose.expect("it is listed");
        assert!(goose["version"].as_str().is_some_and(|it| it.starts_with("1.")), "{goose}");
        assert_eq!(goose["login"]["by"], "GOOSE_PROVIDER", "{goose}");
    });
}
