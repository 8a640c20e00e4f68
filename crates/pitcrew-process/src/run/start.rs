//! Starts the program of a run with its pipes.

use super::{Run, Stdin, Streams};
use crate::{Owned, command, folder, launch, marker::Mark, poll};
use std::{
    io::{self, PipeReader, PipeWriter, Seek, SeekFrom},
    os::unix::process::CommandExt,
    time::Instant,
};

/// A running program and our ends of its pipes. None of the pipes blocks.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) program: Owned,
    pub(super) stdin: Option<PipeWriter>,
    pub(super) stdout: Option<PipeReader>,
    pub(super) stderr: Option<PipeReader>,
    pub(super) at: Instant,
}

pub(super) fn start(run: &Run, mark: Option<Mark>) -> io::Result<Started> {
    let mut command = command::command(&run.argv, &run.cwd, &run.env)?;
    command.process_group(0);

    let ours_stdin = match &run.stdin {
        Stdin::Bytes(_) => {
            let (stdin, ours) = io::pipe()?;
            command.stdin(stdin);
            Some(ours)
        }
        Stdin::File(path, from) => {
            let mut file = folder::open_plain(path)?;
            file.seek(SeekFrom::Start(*from))?;
            command.stdin(file);
            None
        }
    };
    let (ours_stdout, stdout) = io::pipe()?;
    let ours_stderr = match run.streams {
        Streams::Apart => {
            let (ours, stderr) = io::pipe()?;
            command.stdout(stdout).stderr(stderr);
            Some(ours)
        }
        Streams::Together => {
            command.stdout(stdout.try_clone()?).stderr(stdout);
            None
        }
    };
    if let Some(stdin) = &ours_stdin {
        poll::never_block(stdin)?;
    }
    poll::never_block(&ours_stdout)?;
    if let Some(stderr) = &ours_stderr {
        poll::never_block(stderr)?;
    }
    let at = Instant::now();
    // The command holds the other ends of the pipes and closes them when it is dropped here.
    let program = Owned::new(command.spawn()?, mark);
    if let Some(bytes) = run.memory_bytes_max {
        launch::limit_memory(program.pid(), bytes)?;
    }
    Ok(Started { program, stdin: ours_stdin, stdout: Some(ours_stdout), stderr: ours_stderr, at })
}
