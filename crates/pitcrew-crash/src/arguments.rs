//! Parses the command line.

use std::{path::PathBuf, time::UNIX_EPOCH};

pub const USAGE: &str = "\
usage: pitcrew-crash --binary PATH (--rounds N | --power-loss N [--prove]) [--seed S]";

#[derive(Debug, PartialEq, Eq)]
pub struct Arguments {
    pub binary: PathBuf,
    pub what: What,
    pub seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Kill a running plan repeatedly.
    Rounds { count: u64 },
    /// Cut the power at points of a recorded run.
    PowerLoss { count: u64, disk: Disk },
}

/// How the disk of a recorded run handles syncs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disk {
    Honest,
    /// The journal's commits are not synced, as with `synchronous=NORMAL`: losses must be found.
    NoSyncAtCommit,
}

impl Arguments {
    pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut rest = arguments;
        let (mut binary, mut what, mut seed, mut disk) = (None, None, None, Disk::Honest);
        while let Some(argument) = rest.next() {
            if argument == "--prove" {
                disk = Disk::NoSyncAtCommit;
                continue;
            }
            let value = rest.next().ok_or_else(|| format!("`{argument}` needs a value"))?;
            match argument.as_str() {
                "--binary" => binary = Some(PathBuf::from(value)),
                "--rounds" => what = Some(What::Rounds { count: number(&value)? }),
                "--power-loss" => {
                    what = Some(What::PowerLoss { count: number(&value)?, disk: Disk::Honest });
                }
                "--seed" => seed = Some(number(&value)?),
                unknown => return Err(format!("unknown argument `{unknown}`")),
            }
        }
        let what = match (what, disk) {
            (Some(What::PowerLoss { count, .. }), disk) => What::PowerLoss { count, disk },
            (Some(what @ What::Rounds { .. }), Disk::Honest) => what,
            (Some(What::Rounds { .. }), Disk::NoSyncAtCommit) => {
                return Err("`--prove` requires `--power-loss`".into());
            }
            (None, _) => return Err("`--rounds` or `--power-loss` is required".into()),
        };
        let binary = binary.ok_or("`--binary` is required")?;
        Ok(Self { binary, what, seed: seed.unwrap_or_else(any_seed) })
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number"))
}

/// Different in every run, and short enough to type.
fn any_seed() -> u64 {
    let now = UNIX_EPOCH.elapsed().unwrap_or_default();
    u64::from(now.subsec_micros()) * 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, String> {
        Arguments::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn a_seed_repeats_a_run() {
        let arguments = parse("--binary b --rounds 1 --seed 77").expect("valid arguments");
        assert_eq!((arguments.what, arguments.seed), (What::Rounds { count: 1 }, 77));
        let arguments = parse("--prove --power-loss 9 --binary b").expect("valid arguments");
        let disk = Disk::NoSyncAtCommit;
        assert_eq!(arguments.what, What::PowerLoss { count: 9, disk });
    }

    #[test]
    fn invalid_arguments_are_rejected() {
        for line in
            ["--binary b", "--rounds 1", "--binary b --rounds x", "--binary b --rounds 1 --prove"]
        {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
