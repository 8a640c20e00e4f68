//! What a worker reaches outside its box.

use crate::script::check;
use expect_test::expect;

/// Whoever reads the record begins again after a restart where the journal says, or before it.
#[test]
fn a_decision_of_the_way_out_is_noted_once() {
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
