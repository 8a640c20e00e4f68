//! The body of one request over plain HTTP: exactly this body is forwarded, and nothing after it.
//!
//! A chunked body is re-encoded without extensions and trailers, so that the next reader finds the
//! same end.

use std::{
    io,
    sync::atomic::{AtomicU64, Ordering},
};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The length of a chunk header or a trailer.
const LINE_BYTES_MAX: u64 = 4 * 1_024;
/// No tool sends more trailers than this.
const TRAILERS_MAX: usize = 100;

/// The framing of a request body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    Bytes(u64),
    /// Each chunk has its own length.
    Chunked,
}

impl Body {
    /// Reads the framing from the values of `Content-Length` and `Transfer-Encoding`. Returns
    /// nothing if they are ambiguous.
    pub(super) fn framed(length: Option<&str>, encoding: Option<&str>) -> Option<Self> {
        match (length, encoding) {
            (None, None) => Some(Self::Bytes(0)),
            (Some(length), None) => {
                let is_number = length.bytes().all(|it| it.is_ascii_digit());
                length.parse().ok().filter(|_| is_number).map(Self::Bytes)
            }
            (None, Some(encoding)) => {
                encoding.eq_ignore_ascii_case("chunked").then_some(Self::Chunked)
            }
            (Some(_), Some(_)) => None,
        }
    }

    /// Forwards the body and counts its bytes. Fails if the body is cut off or malformed.
    pub(super) async fn forward(
        self,
        from: &mut (impl AsyncBufRead + Unpin),
        to: &mut (impl AsyncWrite + Unpin),
        count: &AtomicU64,
    ) -> io::Result<()> {
        match self {
            Self::Bytes(length) => move_bytes(from, to, length, count).await?,
            Self::Chunked => {
                loop {
                    let length = chunk_length(&line(from).await?)?;
                    if length == 0 {
                        break;
                    }
                    to.write_all(format!("{length:x}\r\n").as_bytes()).await?;
                    move_bytes(from, to, length, count).await?;
                    if !line(from).await?.is_empty() {
                        return Err(io::ErrorKind::InvalidData.into());
                    }
                    to.write_all(b"\r\n").await?;
                }
                skip_trailers(from).await?;
                to.write_all(b"0\r\n\r\n").await?;
            }
        }
        to.flush().await
    }
}

async fn move_bytes(
    from: &mut (impl AsyncBufRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    length: u64,
    count: &AtomicU64,
) -> io::Result<()> {
    let mut left = length;
    while left > 0 {
        let bytes = from.fill_buf().await?;
        if bytes.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let moved = usize::try_from(left).map_or(bytes.len(), |it| it.min(bytes.len()));
        to.write_all(&bytes[..moved]).await?;
        // A server may respond before it has received the whole body.
        to.flush().await?;
        from.consume(moved);
        left -= moved as u64;
        count.fetch_add(moved as u64, Ordering::Relaxed);
    }
    Ok(())
}

async fn skip_trailers(from: &mut (impl AsyncBufRead + Unpin)) -> io::Result<()> {
    for _ in 0..=TRAILERS_MAX {
        if line(from).await?.is_empty() {
            return Ok(());
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}

/// Reads a line without its line end.
async fn line(from: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    from.take(LINE_BYTES_MAX).read_until(b'\n', &mut line).await?;
    match line.strip_suffix(b"\r\n") {
        Some(line) => Ok(line.to_owned()),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// `1f;name=value`
fn chunk_length(line: &[u8]) -> io::Result<u64> {
    let digits = line.split(|it| *it == b';').next().unwrap_or_default();
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
    let length = str::from_utf8(digits).ok().filter(|_| is_number);
    let length = length.and_then(|it| u64::from_str_radix(it, 16).ok());
    length.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the forwarded bytes and the remaining ones, or nothing if the body is malformed.
    fn forwarded(body: Body, bytes: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (mut from, mut to) = (bytes, Vec::new());
            let count = AtomicU64::new(0);
            body.forward(&mut from, &mut to, &count).await.ok()?;
            Some((to, from.to_vec()))
        })
    }

    #[test]
    fn body_ends_at_its_declared_length() {
        let after = |body, bytes: &str| {
            let (to, left) = forwarded(body, bytes.as_bytes())?;
            Some((String::from_utf8(to).unwrap(), String::from_utf8(left).unwrap()))
        };
        let both = |to: &str, left: &str| Some((to.to_owned(), left.to_owned()));
        assert_eq!(after(Body::Bytes(0), "GET /"), both("", "GET /"));
        assert_eq!(after(Body::Bytes(3), "abcGET /"), both("abc", "GET /"));
        assert_eq!(after(Body::Bytes(3), "ab"), None);
        let chunks = "3;x=y\r\nabc\r\n0A\r\n0123456789\r\n0\r\nTrailer: 1\r\n\r\nGET /";
        let anew = "3\r\nabc\r\na\r\n0123456789\r\n0\r\n\r\n";
        assert_eq!(after(Body::Chunked, chunks), both(anew, "GET /"));
        for broken in
            ["", "3\r\nab", "3\r\nabcd\r\n0\r\n\r\n", "3\nabc\r\n0\r\n\r\n", "-1\r\n", "\r\n"]
        {
            assert_eq!(after(Body::Chunked, broken), None, "{broken:?}");
        }
        let endless = format!("{}\r\n", "1".repeat(17));
        assert_eq!(after(Body::Chunked, &endless), None, "it is longer than any body");
    }

    #[test]
    fn ambiguous_length_is_rejected() {
        assert_eq!(Body::framed(None, None), Some(Body::Bytes(0)));
        assert_eq!(Body::framed(Some("12"), None), Some(Body::Bytes(12)));
        assert_eq!(Body::framed(None, Some("Chunked")), Some(Body::Chunked));
        for length in ["", "+1", "-1", "1,1", "0x1", "1 2", "99999999999999999999"] {
            assert_eq!(Body::framed(Some(length), None), None, "{length}");
        }
        for encoding in ["", "gzip", "gzip, chunked", "identity", "chunked, chunked"] {
            assert_eq!(Body::framed(None, Some(encoding)), None, "{encoding}");
        }
        assert_eq!(Body::framed(Some("1"), Some("chunked")), None);
    }

    proptest! {
        /// The forwarded bytes are exactly one body, whatever the input.
        #[test]
        fn forwarded_body_ends_at_its_own_end(bytes in "[0-9a-c\r\n;x]{0,60}") {
            if let Some((to, _)) = forwarded(Body::Chunked, bytes.as_bytes()) {
                prop_assert_eq!(forwarded(Body::Chunked, &to), Some((to, Vec::new())));
            }
        }
    }
}
