//! Time on the track.

/// Milliseconds since the start of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Millis(pub u64);

#[test]
fn later_is_greater() {
    assert!(Millis(2) > Millis(1));
}
