//! The protocol between an index and its helper processes, over any stream.
//!
//! The helper announces its version, then reads requests and writes answers until its input ends.
//! Nothing here starts or ends a process. A helper that a source has compromised can at worst
//! return garbage: the size of answers is limited, and a packed form may be any bytes.
//!
//! ```text
//! helper:  "pitcrew parser" version:u32
//! request: kind:u8 count:u8 language:u8 ... length:u32 bytes
//! answer:  language:u8 length:u32 packed
//! ```

use crate::{
    FILE_BYTES_MAX, InProcess, Language, Parsed, Parser, Request, on_large_stack, pack::Packed,
    pool::VERSION,
};
use std::{
    io::{self, BufReader, ErrorKind, Read, Write},
    str,
};

const MAGIC: &[u8] = b"pitcrew parser";
const FILE: u8 = 0;
const IMPORT: u8 = 1;

/// A packed file is at most a few times as large as its source.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// The memory limit of a helper, of which 336 MB are the stack for the largest file. An ordinary
/// file of 2 MB needs up to 150 MB of heap, a table of one-digit numbers up to 500 MB.
pub const HELPER_BYTES_MAX: u64 = 850 << 20;

/// Answers requests until the input ends.
///
/// `before_each` is called before each request is parsed, to set its limits.
pub fn serve(
    input: impl Read + Send,
    mut output: impl Write + Send,
    mut before_each: impl FnMut() -> io::Result<()> + Send,
) -> io::Result<()> {
    let mut input = BufReader::with_capacity(64 << 10, input);
    output.write_all(&greeting())?;
    output.flush()?;
    on_large_stack(|| {
        let mut buffer = Vec::new();
        while let Some(head) = read_head(&mut input, &mut buffer)? {
            before_each()?;
            let request = head.request(&buffer).ok_or(ErrorKind::InvalidData)?;
            write_answer(&mut output, &InProcess.parse(&request))?;
        }
        Ok(())
    })
}

/// Waits until a new helper is ready. Fails if the helper has another version.
pub fn await_ready(helper: &mut impl Read) -> io::Result<()> {
    let mut read = [0; MAGIC.len() + 4];
    helper.read_exact(&mut read)?;
    if read == greeting() { Ok(()) } else { Err(ErrorKind::InvalidData.into()) }
}

/// Sends a request to a helper and reads its answer. After an error, the caller must end the
/// helper.
pub fn ask<S: Read + Write>(helper: &mut S, request: &Request<'_>) -> io::Result<Parsed> {
    write_request(helper, request)?;
    read_answer(helper)
}

fn greeting() -> [u8; MAGIC.len() + 4] {
    let mut bytes = [0; MAGIC.len() + 4];
    bytes[..MAGIC.len()].copy_from_slice(MAGIC);
    bytes[MAGIC.len()..].copy_from_slice(&VERSION.to_le_bytes());
    bytes
}

fn write_request(helper: &mut impl Write, request: &Request<'_>) -> io::Result<()> {
    let (kind, languages, bytes) = match request {
        Request::File { language, content } => (FILE, std::slice::from_ref(language), *content),
        Request::Import { languages, line } => (IMPORT, *languages, line.as_bytes()),
    };
    let mut head = vec![kind, u8::try_from(languages.len()).map_err(invalid)?];
    head.extend(languages.iter().map(|it| *it as u8));
    head.extend(u32::try_from(bytes.len()).map_err(invalid)?.to_le_bytes());
    head.extend_from_slice(bytes);
    helper.write_all(&head)?;
    helper.flush()
}

fn read_answer(helper: &mut impl Read) -> io::Result<Parsed> {
    let [language, length @ ..] = read_fixed::<5>(helper)?;
    let length = u32::from_le_bytes(length) as usize;
    let language = language_of(language).filter(|_| length <= ANSWER_BYTES_MAX);
    let language = language.ok_or(ErrorKind::InvalidData)?;
    let mut packed = vec![0; length];
    helper.read_exact(&mut packed)?;
    Ok(Parsed { language, packed: Packed::new(packed.into()) })
}

fn write_answer(output: &mut impl Write, parsed: &Parsed) -> io::Result<()> {
    let packed = parsed.packed.bytes();
    let mut head = vec![parsed.language as u8];
    head.extend(u32::try_from(packed.len()).map_err(invalid)?.to_le_bytes());
    head.extend_from_slice(packed);
    output.write_all(&head)?;
    output.flush()
}

/// A request without its bytes.
struct Head {
    kind: u8,
    languages: Vec<Language>,
}

impl Head {
    fn request<'a>(&'a self, bytes: &'a [u8]) -> Option<Request<'a>> {
        match self.kind {
            FILE => Some(Request::File { language: *self.languages.first()?, content: bytes }),
            IMPORT => {
                let line = str::from_utf8(bytes).ok()?;
                Some(Request::Import { languages: &self.languages, line })
            }
            _ => None,
        }
    }
}

/// Returns `None` at the end of the input.
fn read_head(input: &mut impl Read, buffer: &mut Vec<u8>) -> io::Result<Option<Head>> {
    let mut first = [0; 1];
    match input.read_exact(&mut first) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let ([kind], [count]) = (first, read_fixed::<1>(input)?);
    let mut languages = Vec::new();
    for _ in 0..count {
        let [language] = read_fixed::<1>(input)?;
        languages.push(language_of(language).ok_or(ErrorKind::InvalidData)?);
    }
    let length = u32::from_le_bytes(read_fixed::<4>(input)?) as usize;
    if length > FILE_BYTES_MAX {
        return Err(ErrorKind::InvalidData.into());
    }
    buffer.resize(length, 0);
    input.read_exact(buffer)?;
    Ok(Some(Head { kind, languages }))
}

fn read_fixed<const COUNT: usize>(input: &mut impl Read) -> io::Result<[u8; COUNT]> {
    let mut bytes = [0; COUNT];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn language_of(number: u8) -> Option<Language> {
    Language::ALL.get(usize::from(number)).copied()
}

fn invalid(error: std::num::TryFromIntError) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FileSymbols, extract};
    use proptest::prelude::*;
    use std::{collections::VecDeque, os::unix::net::UnixStream, thread};

    /// Calls `work` with a stream to a helper.
    fn with_helper(work: impl FnOnce(&mut UnixStream)) {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let helper = thread::spawn(move || serve(&theirs, &theirs, || Ok(())));
        await_ready(&mut ours).unwrap();
        work(&mut ours);
        drop(ours);
        helper.join().unwrap().unwrap();
    }

    #[test]
    fn a_helper_returns_the_same_as_this_process() {
        with_helper(|helper| {
            for (language, text) in [
                (Language::Rust, "use a::b;\npub struct Gate { key: u8 }\nfn open(&self) {}\n"),
                (Language::Python, "def (\n"),
                (Language::C, "class A { public: int f(); };\n"),
                (Language::Java, &"a<".repeat(25_000)),
                (Language::Go, ""),
            ] {
                let content = text.as_bytes();
                let answer = ask(helper, &Request::File { language, content }).unwrap();
                assert_eq!(FileSymbols::from(answer), extract(language, content));
            }
        });
    }

    #[test]
    fn the_first_language_that_parses_an_import_is_used() {
        with_helper(|helper| {
            let languages = [Language::Go, Language::Python, Language::TypeScript];
            let mut module = |line| {
                let answer = ask(helper, &Request::Import { languages: &languages, line }).unwrap();
                answer.packed.imports().first().map(|it| it.module.to_string())
            };
            assert_eq!(module("from core.auth import A").as_deref(), Some("core.auth"));
            assert_eq!(module("import { A } from './auth'").as_deref(), Some("./auth"));
            assert_eq!(module("what is it"), None);
        });
    }

    #[test]
    fn another_version_is_rejected() {
        let mut other = greeting();
        other[MAGIC.len()] ^= 1;
        assert!(await_ready(&mut &other[..]).is_err());
        assert!(await_ready(&mut &other[..4]).is_err());
    }

    /// Answers with the given bytes.
    struct Garbage(VecDeque<u8>);

    impl Read for Garbage {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0.read(buffer)
        }
    }

    impl Write for Garbage {
        fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
            Ok(buffer.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    proptest! {
        #[test]
        fn any_answer_is_handled(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let request = Request::File { language: Language::Rust, content: b"fn a() {}" };
            if let Ok(answer) = ask(&mut Garbage(bytes.into()), &request) {
                let _ = FileSymbols::from(answer);
            }
        }

        #[test]
        fn any_request_is_handled(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut output = Vec::new();
            let _ = serve(&bytes[..], &mut output, || Ok(()));
        }
    }
}
