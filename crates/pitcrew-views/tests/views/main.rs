//! Transcripts: events in, displayed text out.
mod journal;
mod board;
mod inbox;
mod messages;
mod timeline;
mod audit;
mod subtasks;
mod summary;
mod names;
mod wire;
mod random;
