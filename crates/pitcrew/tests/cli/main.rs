//! The real binary, in a home of its own, on a real repository, with real agents.

mod support;
mod demo;
mod look;
mod query;
mod messages;
mod queries;
mod backends;
mod plan_file;
mod run;
mod sandbox;
mod model;
mod editor;
mod caps;
mod decide;
mod permissions;
mod steer;
mod emergency;
mod journal;
mod subtasks;
mod zones;
mod finish;
mod recover;
mod restore;
mod terminal;
mod tools;
mod http_tools;
