//! Parses the tracer's output into steps.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

/// An operation that reached the disk or the outside.
#[derive(Debug, PartialEq, Eq)]
pub struct Step {
    /// The line on which it started: from here on it may have happened.
    pub begin: usize,
    /// The line on which it ended: from here on it has happened.
    pub end: usize,
    pub act: Act,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Act {
    Create(PathBuf),
    Write {
        path: PathBuf,
        at: Place,
        bytes: Vec<u8>,
    },
    Truncate {
        path: PathBuf,
        length: u64,
    },
    /// Of a file or a folder.
    Sync(PathBuf),
    Rename {
        from: PathBuf,
        to: PathBuf,
    },
    Remove(PathBuf),
    /// An entry of the journal was acknowledged to the outside.
    Acknowledged {
        seq: u64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Offset(u64),
    End,
}

impl Step {
    pub fn syncs(&self, name: &str) -> bool {
        matches!(&self.act, Act::Sync(path) if path.ends_with(name))
    }
}

/// The recorded system calls.
pub const CALLS: &str = "openat,lseek,write,writev,pwrite64,ftruncate,fsync,fdatasync,rename,\
                         renameat,renameat2,unlink,unlinkat,sendto,sendmsg";

/// A complete system call.
struct Call<'a> {
    thread: &'a str,
    name: &'a str,
    /// Up to the closing parenthesis.
    arguments: &'a str,
    /// The part after the equals sign.
    result: &'a str,
}

/// Parses the output of `strace -f -y -xx`, and keeps calls about files below `root` and about
/// sockets.
pub fn parse(text: &str, root: &Path) -> Vec<Step> {
    let mut reader = Reader { root, offsets: HashMap::new(), steps: Vec::new() };
    let mut begun: HashMap<&str, (usize, &str)> = HashMap::new();
    for (number, line) in text.lines().enumerate() {
        let Some((thread, rest)) = line.split_once(' ') else { continue };
        let rest = rest.trim_start();
        if let Some(begin) = rest.strip_suffix(" <unfinished ...>") {
            begun.insert(thread, (number, begin));
        } else if let Some(resumed) = rest.strip_prefix("<... ") {
            let Some((begin, first)) = begun.remove(thread) else { continue };
            let Some((_, second)) = resumed.split_once(" resumed>") else { continue };
            let whole = format!("{first}{second}");
            reader.read(thread, &whole, begin, number);
        } else {
            reader.read(thread, rest, number, number);
        }
    }
    reader.steps.sort_by_key(|it| it.begin);
    reader.steps
}

struct Reader<'a> {
    root: &'a Path,
    /// The position of a thread's next write without an offset.
    offsets: HashMap<(String, PathBuf), u64>,
    steps: Vec<Step>,
}

impl Reader<'_> {
    fn read(&mut self, thread: &str, call: &str, begin: usize, end: usize) {
        let Some((name, rest)) = call.split_once('(') else { return };
        let Some((arguments, result)) = rest.rsplit_once(" = ") else { return };
        let arguments = arguments.trim_end().trim_end_matches(')');
        if result.starts_with('-') || result.starts_with('?') {
            return;
        }
        for act in self.acts(&Call { thread, name, arguments, result }) {
            self.steps.push(Step { begin, end, act });
        }
    }

    fn acts(&mut self, call: &Call<'_>) -> Vec<Act> {
        match call.name {
            "openat" => self.open(call),
            "lseek" => self.seek(call),
            "write" | "writev" | "pwrite64" | "sendto" | "sendmsg" => self.write(call),
            "ftruncate" => {
                let length = last_number(call.arguments);
                self.file(call).map(|path| Act::Truncate { path, length }).into_iter().collect()
            }
            "fsync" | "fdatasync" => self.file(call).map(Act::Sync).into_iter().collect(),
            "rename" | "renameat" | "renameat2" => {
                let mut paths = strings(call.arguments).map(|it| path_of(&it));
                match (paths.next(), paths.next()) {
                    (Some(from), Some(to)) if self.is_ours(&from) => vec![Act::Rename { from, to }],
                    _ => Vec::new(),
                }
            }
            "unlink" | "unlinkat" => {
                let path = strings(call.arguments).next().map(|it| path_of(&it));
                path.filter(|it| self.is_ours(it)).map(Act::Remove).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    fn open(&mut self, call: &Call<'_>) -> Vec<Act> {
        let Some(path) = descriptor(call.result).filter(|it| self.is_ours(it)) else {
            return Vec::new();
        };
        self.offsets.remove(&(call.thread.to_owned(), path.clone()));
        let mut acts = Vec::new();
        if call.arguments.contains("O_CREAT") {
            acts.push(Act::Create(path.clone()));
        }
        if call.arguments.contains("O_TRUNC") {
            acts.push(Act::Truncate { path, length: 0 });
        }
        acts
    }

    fn seek(&mut self, call: &Call<'_>) -> Vec<Act> {
        if let (Some(path), Ok(offset)) = (self.file(call), call.result.trim().parse()) {
            self.offsets.insert((call.thread.to_owned(), path), offset);
        }
        Vec::new()
    }

    fn write(&mut self, call: &Call<'_>) -> Vec<Act> {
        let Some(path) = descriptor(call.arguments) else { return Vec::new() };
        let mut bytes = strings(call.arguments).collect::<Vec<_>>().concat();
        if path.as_os_str().as_encoded_bytes().starts_with(b"socket:") {
            return acknowledged(&bytes).map(|seq| Act::Acknowledged { seq }).into_iter().collect();
        }
        if !self.is_ours(&path) {
            return Vec::new();
        }
        bytes.truncate(call.result.trim().parse().unwrap_or(0));
        let at = if call.name == "pwrite64" {
            Place::Offset(last_number(call.arguments))
        } else {
            match self.offsets.get_mut(&(call.thread.to_owned(), path.clone())) {
                Some(offset) => {
                    let at = *offset;
                    *offset += bytes.len() as u64;
                    Place::Offset(at)
                }
                None => Place::End,
            }
        };
        vec![Act::Write { path, at, bytes }]
    }

    fn file(&self, call: &Call<'_>) -> Option<PathBuf> {
        descriptor(call.arguments).filter(|it| self.is_ours(it))
    }

    /// The journal and the folders of the attempts, including the folders themselves.
    fn is_ours(&self, path: &Path) -> bool {
        let Ok(below) = path.strip_prefix(self.root) else { return false };
        let first = below.iter().next().unwrap_or_default();
        ["", "journal.db", "journal.db-wal", "attempts"].iter().any(|it| first == *it)
    }
}

/// The highest entry that a message acknowledges: in an answer to a client, or in a frame to an
/// agent.
fn acknowledged(bytes: &[u8]) -> Option<u64> {
    let text = String::from_utf8_lossy(bytes);
    let after = |key: &'static str| {
        let ends: Vec<usize> = text.match_indices(key).map(|it| it.0 + key.len()).collect();
        ends.into_iter().filter_map(|at| leading_number(&text[at..])).collect::<Vec<_>>()
    };
    let acknowledged = after("\"seq\":");
    // A frame has the number of its effect, which contains the number of its entry.
    let sent = after("{\"send\":{\"id\":").into_iter().filter(|it| *it < ANSWERS);
    let sent = sent.map(|it| it / PER_EFFECT);
    acknowledged.into_iter().chain(sent).max()
}

/// Frames from this number on are answers, numbered by the agent's output.
const ANSWERS: u64 = 1 << 63;
/// The largest number of frames for one effect.
const PER_EFFECT: u64 = 8;

fn leading_number(text: &str) -> Option<u64> {
    text.split(|it: char| !it.is_ascii_digit()).next()?.parse().ok()
}

fn last_number(arguments: &str) -> u64 {
    arguments.rsplit(", ").next().and_then(|it| it.trim().parse().ok()).unwrap_or(0)
}

/// The path after the first descriptor: `7<\x2f...>`.
fn descriptor(text: &str) -> Option<PathBuf> {
    let (_, rest) = text.split_once('<')?;
    let (hex, _) = rest.split_once('>')?;
    Some(path_of(&decode(hex)))
}

fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}

fn strings(arguments: &str) -> impl Iterator<Item = Vec<u8>> {
    arguments.split('"').skip(1).step_by(2).map(decode)
}

/// Decodes `\x2f\x74` to bytes.
fn decode(text: &str) -> Vec<u8> {
    let digit = |it: u8| match it {
        b'0'..=b'9' => it - b'0',
        b'a'..=b'f' => it - b'a' + 10,
        _ => 0,
    };
    let pairs = text.as_bytes().chunks_exact(4);
    pairs.map(|it| digit(it[2]) << 4 | digit(it[3])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> String {
        text.bytes().map(|it| format!("\\x{it:02x}")).collect::<Vec<_>>().concat()
    }

    #[test]
    fn overlapping_calls_keep_their_start_and_end() {
        let (file, socket) = (hex("/s/journal.db-wal"), hex("socket:[7]"));
        let lines = [
            format!("11 pwrite64(3<{file}>, \"{}\", 2, 4096) = 2", hex("ab")),
            format!("11 fdatasync(3<{file}> <unfinished ...>"),
            format!("12 sendto(9<{socket}>, \"{}\", 9, 0, NULL, 0) = 9", hex("{\"seq\":5}")),
            "11 <... fdatasync resumed>) = 0".to_owned(),
            format!("12 write(4<{}>, \"{}\", 1) = 1", hex("/elsewhere"), hex("x")),
            format!("12 write(4<{file}>, \"{}\", 1) = -1 ENOSPC (No space)", hex("x")),
        ];
        let path = PathBuf::from("/s/journal.db-wal");
        let at = Place::Offset(4_096);
        let write = Act::Write { path: path.clone(), at, bytes: b"ab".to_vec() };
        let wanted = [
            Step { begin: 0, end: 0, act: write },
            Step { begin: 1, end: 3, act: Act::Sync(path) },
            Step { begin: 2, end: 2, act: Act::Acknowledged { seq: 5 } },
        ];
        assert_eq!(parse(&lines.join("\n"), Path::new("/s")), wanted);
    }

    #[test]
    fn a_write_goes_to_its_threads_position_or_to_the_end() {
        let file = hex("/s/attempts/a");
        let lines = [
            format!("1 write(3<{file}>, \"{}\", 1) = 1", hex("a")),
            format!("1 lseek(3<{file}>, 9, SEEK_SET) = 9"),
            format!("1 write(3<{file}>, \"{}\", 1) = 1", hex("b")),
            format!("1 write(3<{file}>, \"{}\", 1) = 1", hex("c")),
        ];
        let places: Vec<Place> = parse(&lines.join("\n"), Path::new("/s"))
            .into_iter()
            .filter_map(|it| if let Act::Write { at, .. } = it.act { Some(at) } else { None })
            .collect();
        assert_eq!(places, [Place::End, Place::Offset(9), Place::Offset(10)]);
    }
}
