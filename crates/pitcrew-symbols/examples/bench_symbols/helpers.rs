//! Two helper processes that parse, as in the product.

use super::Outcome;
use pitcrew_symbols::{Parsed, Parser, Request, ask, await_ready};
use std::{
    env,
    io::{self, Read, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{Arc, Condvar, Mutex},
};

const HELPERS: usize = 2;

/// Idle helpers.
#[derive(Debug, Default)]
pub struct Helpers {
    idle: Mutex<Vec<Helper>>,
    free: Condvar,
}

#[derive(Debug)]
struct Helper {
    child: Child,
    stdin: ChildStdin,
    stdout: ChildStdout,
}

impl Helpers {
    pub fn start() -> Outcome<Arc<Self>> {
        let idle = (0..HELPERS).map(|_| Helper::start()).collect::<Outcome<_>>()?;
        Ok(Arc::new(Self { idle: Mutex::new(idle), free: Condvar::new() }))
    }
}

impl Parser for Helpers {
    fn parse(&self, request: &Request<'_>) -> Parsed {
        let idle = self.idle.lock().expect("nothing panics");
        let mut idle = self.free.wait_while(idle, |it| it.is_empty()).expect("nothing panics");
        let mut helper = idle.pop().expect("one is free");
        drop(idle);
        let parsed = ask(&mut helper, request).expect("the sources are harmless");
        self.idle.lock().expect("nothing panics").push(helper);
        self.free.notify_one();
        parsed
    }
}

impl Helper {
    #[expect(clippy::disallowed_methods, reason = "a bench starts what it measures")]
    fn start() -> Outcome<Self> {
        let mut command = Command::new(env::current_exe()?);
        command.arg("parser").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (stdin, stdout) = (stdin.ok_or("no pipe")?, stdout.ok_or("no pipe")?);
        let mut helper = Self { child, stdin, stdout };
        await_ready(&mut helper)?;
        Ok(helper)
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Read for Helper {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stdout.read(buffer)
    }
}

impl Write for Helper {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.stdin.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
