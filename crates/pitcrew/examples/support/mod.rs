//! Helpers of the benchmarks.

use std::{error::Error, path::PathBuf};

pub type BenchResult<T> = Result<T, Box<dyn Error>>;

/// The `pitcrew` binary beside this example, of the same profile.
pub fn binary() -> BenchResult<PathBuf> {
    let this = std::env::current_exe()?;
    let folder = this.ancestors().nth(2).ok_or("examples are in a folder of the profile")?;
    Ok(folder.join("pitcrew").canonicalize()?)
}
