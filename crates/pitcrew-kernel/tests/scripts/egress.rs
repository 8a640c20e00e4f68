//! Network decisions.

use crate::script::check;
use expect_test::expect;

/// After a restart the record is read from the position in the journal, or from before it.
#[test]
fn a_network_decision_is_recorded_once() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            reaches attempt-1 a.example 100
            is-refused attempt-1 evil.test 220
            is-refused attempt-1 evil.test 220
            reaches attempt-1 a.example 100
            reaches attempt-9 a.example 100
            is-refused plan-1 evil.test 50
            is-refused plan-1 evil.test 50
            reaches plan-9 a.example 100
        ",
        &expect![[r#"
            > reaches attempt-1 a.example 100
              attempt-1: a.example:443 reached: because
            > is-refused attempt-1 evil.test 220
              attempt-1: evil.test:443 refused: because
            > is-refused attempt-1 evil.test 220
              nothing
            > reaches attempt-1 a.example 100
              nothing
            > reaches attempt-9 a.example 100
              rejected: there is no attempt-9
            > is-refused plan-1 evil.test 50
              plan-1: evil.test:443 refused: because
            > is-refused plan-1 evil.test 50
              nothing
            > reaches plan-9 a.example 100
              rejected: there is no plan-9; `pitcrew status --all` lists the plans
        "#]],
    );
}
