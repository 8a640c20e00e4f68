//! How a lap time is written.

pub fn lap_time(milliseconds: u64) -> String {
    milliseconds.to_string()
}
