#[path = "../api/format.rs"]
mod format;

#[test]
fn a_lap_time_reads_like_on_the_pit_wall() {
    assert_eq!(format::lap_time(65_020), "01:05.020");
    assert_eq!(format::lap_time(600_000), "10:00.000");
}
