//! Reads YAML front matter into a small tree with locations.
//!
//! The text may come from a repository, so its size, its depth and its number of values are
//! limited, and aliases, which can expand without bound, are refused.

use crate::{diagnostic::Problems, document::Span};
use saphyr_parser::{Event, Parser, ScalarStyle};

const DEPTH_MAX: usize = 16;
const NODES_MAX: usize = 4_096;

/// A value with its location.
#[derive(Debug)]
pub(super) struct Node {
    pub span: Span,
    pub value: Value,
}

#[derive(Debug)]
pub(super) enum Value {
    Empty,
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key with its value.
#[derive(Debug)]
pub(super) struct Entry {
    pub key: String,
    pub span: Span,
    pub node: Node,
}

/// The front matter and the offset of the body. `None` if it is missing, not closed or no map.
pub(super) fn front_matter(text: &str, problems: &mut Problems) -> Option<(Vec<Entry>, usize)> {
    let bom = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut lines = text[bom..].split_inclusive('\n');
    let opening = lines.next().unwrap_or_default();
    if opening.trim_end() != "---" {
        let help = "begin the file with `---`, `description: ...`, `---`";
        problems.error(&(bom..bom), "the file has no front matter", Some(help.into()));
        return None;
    }
    let start = bom + opening.len();
    let mut end = start;
    for line in lines {
        if line.trim_end() == "---" {
            let entries = map(text, start..end, problems)?;
            return Some((entries, end + line.len()));
        }
        end += line.len();
    }
    let help = "close it with a line `---`";
    problems.error(&(bom..bom + 3), "the front matter is not closed", Some(help.into()));
    None
}

fn map(text: &str, range: Span, problems: &mut Problems) -> Option<Vec<Entry>> {
    let mut reader = Reader::new(text, range.clone());
    match reader.document() {
        Ok(Value::Map(entries)) => Some(entries),
        Ok(Value::Empty) => Some(Vec::new()),
        Ok(Value::Text(_) | Value::List(_)) => {
            let help = "write `key: value`, one on each line";
            problems.error(&range, "the front matter has no keys", Some(help.into()));
            None
        }
        Err(Invalid { span, reason }) => {
            let message = format!("the front matter is not YAML: {reason}");
            let help = "put a text that contains `: `, `#` or quotes into double quotes";
            problems.error(&span, message, Some(help.into()));
            None
        }
    }
}

/// Why the text was refused.
struct Invalid {
    span: Span,
    reason: String,
}

struct Reader<'t> {
    parser: Parser<'t, saphyr_parser::StrInput<'t>>,
    /// The byte offset of each character, and of the end.
    offsets: Vec<usize>,
    nodes_count: usize,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str, range: Span) -> Self {
        let yaml = &text[range.clone()];
        let offsets = yaml.char_indices().map(|it| range.start + it.0);
        Self {
            parser: Parser::new_from_str(yaml),
            offsets: offsets.chain([range.end]).collect(),
            nodes_count: 0,
        }
    }

    fn document(&mut self) -> Result<Value, Invalid> {
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamStart | Event::DocumentStart(_) | Event::Nothing => {}
                Event::StreamEnd | Event::DocumentEnd => return Ok(Value::Empty),
                Event::Alias(_)
                | Event::Scalar(..)
                | Event::SequenceStart(..)
                | Event::SequenceEnd
                | Event::MappingStart(..)
                | Event::MappingEnd => return Ok(self.node(event, span, 0)?.value),
            }
        }
    }

    fn next(&mut self) -> Result<(Event<'t>, Span), Invalid> {
        let end = *self.offsets.last().expect("the end has an offset");
        match self.parser.next_event() {
            Some(Ok((event, span))) => {
                Ok((event, self.offset(span.start.index())..self.offset(span.end.index())))
            }
            Some(Err(error)) => {
                let at = self.offset(error.marker().index());
                Err(Invalid { span: at..at, reason: error.info().to_owned() })
            }
            None => Err(Invalid { span: end..end, reason: "it ends too early".into() }),
        }
    }

    fn offset(&self, index: usize) -> usize {
        let last = self.offsets.len() - 1;
        self.offsets[index.min(last)]
    }

    fn node(&mut self, event: Event<'t>, span: Span, depth: usize) -> Result<Node, Invalid> {
        self.nodes_count += 1;
        let refused = |reason: String| Err(Invalid { span: span.clone(), reason });
        if depth > DEPTH_MAX || self.nodes_count > NODES_MAX {
            return refused(format!("more than {NODES_MAX} values, or {DEPTH_MAX} levels"));
        }
        match event {
            Event::Scalar(text, style, ..) => {
                let is_null = style == ScalarStyle::Plain && matches!(&*text, "" | "~" | "null");
                let value = if is_null { Value::Empty } else { Value::Text(text.into_owned()) };
                Ok(Node { span, value })
            }
            Event::SequenceStart(..) => {
                let mut items = Vec::new();
                loop {
                    let (event, at) = self.next()?;
                    if let Event::SequenceEnd = event {
                        return Ok(Node { span: span.start..at.end, value: Value::List(items) });
                    }
                    items.push(self.node(event, at, depth + 1)?);
                }
            }
            Event::MappingStart(..) => {
                let mut entries = Vec::new();
                loop {
                    let (event, at) = self.next()?;
                    if let Event::MappingEnd = event {
                        return Ok(Node { span: span.start..at.end, value: Value::Map(entries) });
                    }
                    entries.push(self.entry(event, at, depth + 1)?);
                }
            }
            Event::Alias(_) => refused("aliases are not allowed".into()),
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::SequenceEnd
            | Event::MappingEnd => refused("a value is missing".into()),
        }
    }

    fn entry(&mut self, event: Event<'t>, span: Span, depth: usize) -> Result<Entry, Invalid> {
        let Value::Text(key) = self.node(event, span.clone(), depth)?.value else {
            return Err(Invalid { span, reason: "a key must be a word".into() });
        };
        let (event, at) = self.next()?;
        let node = self.node(event, at, depth)?;
        Ok(Entry { key, span, node })
    }
}
