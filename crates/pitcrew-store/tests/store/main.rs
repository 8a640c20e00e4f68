//! The contract of the journal, on real files, real processes and really full disks.
mod support;
mod conformance;
mod agreement;
mod files;
mod readers;
mod kill;
mod disk;
mod damage;
