//! Faults of everything around Pitcrew: the real binary with real processes and real git.

mod support;
mod programs;
mod protocol;
mod rogues;
mod floods;
mod doors;
mod crowd;
mod trees;
mod people;
mod crash;
mod reattach;
mod conflicts;
mod repositories;
mod git_faults;
mod limits;
mod locks;
mod input;
mod state_dir;
mod disk;
