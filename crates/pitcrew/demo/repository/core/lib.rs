//! Laps of one car. No text, no clock.
pub mod time;
