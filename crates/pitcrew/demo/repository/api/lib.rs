//! Lap times as text.
pub mod format;
