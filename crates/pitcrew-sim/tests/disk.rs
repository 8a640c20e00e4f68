//! The simulated disk keeps the contract of every journal while nothing fails.

#[path = "../../pitcrew-store/tests/store/conformance.rs"]
mod conformance;
#[path = "../../pitcrew-store/tests/store/support.rs"]
#[expect(dead_code, reason = "other tests of the store use the rest")]
mod support;

use pitcrew_sim::OpenDisk;

#[test]
fn the_simulated_disk_keeps_every_promise() {
    for (name, keeps) in conformance::PROMISES {
        println!("{name}");
        keeps(&mut OpenDisk::default());
    }
}
