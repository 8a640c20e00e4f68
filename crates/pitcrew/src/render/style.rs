//! Terminal colours.

/// Whether text is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    coloured: bool,
}

impl Style {
    pub fn plain() -> Self {
        Self { coloured: false }
    }

    pub fn coloured() -> Self {
        Self { coloured: true }
    }

    pub fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    pub fn red(self, text: &str) -> String {
        self.paint("1;31", text)
    }

    pub fn green(self, text: &str) -> String {
        self.paint("1;32", text)
    }

    pub fn yellow(self, text: &str) -> String {
        self.paint("1;33", text)
    }

    pub fn cyan(self, text: &str) -> String {
        self.paint("1;36", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.coloured && !text.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}
