//! The template language as chat templates expect it: Jinja with what the transformers library adds.
//!
//! **A template comes with a model file and is not trusted: it pays with fuel for every step and byte,
//! has no loader, and reads nothing but the conversation and the clock.**

use std::io::{self, Write};

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Kwargs;
use minijinja::{Environment, Error, ErrorKind, Value};
use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

/// One fuel pays for a step or 64 bytes: a second of work and 64 MB at the very most. A conversation of
/// a thousand messages takes about 30,000.
const FUEL: u64 = 1_000_000;
/// Most bytes of a rendered conversation, and of one value as JSON.
pub(super) const MAX_OUTPUT_BYTES: usize = 16 << 20;

/// An environment without templates.
pub(super) fn environment() -> Result<Environment<'static>, Error> {
    let mut environment = Environment::new();
    environment.set_syntax(
        SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()?,
    );
    environment.set_fuel(Some(FUEL));
    environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    environment.add_function("raise_exception", raise_exception);
    environment.add_function("strftime_now", strftime_now);
    environment.add_filter("tojson", to_json);
    Ok(environment)
}

fn raise_exception(message: &str) -> Result<Value, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, message.to_owned()))
}

/// The local time in a `strftime` format.
fn strftime_now(format: &str) -> Result<String, Error> {
    jiff::fmt::strtime::format(format, &jiff::Zoned::now()).map_err(|error| {
        Error::new(
            ErrorKind::InvalidOperation,
            format!("strftime_now({format:?}): {error}"),
        )
    })
}

/// JSON as Python writes it: a space after `,` and `:`, no escapes for HTML or beyond ASCII.
#[expect(
    clippy::needless_pass_by_value,
    reason = "minijinja hands keyword arguments over by value"
)]
fn to_json(value: &Value, indent: Option<usize>, options: Kwargs) -> Result<String, Error> {
    let indent = match indent {
        Some(indent) => Some(indent),
        None => options.get("indent")?,
    };
    let mut out = Capped::default();
    let result = match indent {
        // Deeper indentation than 16 is no one's wish and could be used to fill memory.
        Some(indent) => {
            let indent = " ".repeat(indent.min(16));
            value.serialize(&mut Serializer::with_formatter(
                &mut out,
                PrettyFormatter::with_indent(indent.as_bytes()),
            ))
        }
        None => value.serialize(&mut Serializer::with_formatter(&mut out, PythonFormatter)),
    };
    result.map_err(|error| Error::new(ErrorKind::BadSerialization, format!("tojson: {error}")))?;
    out.into_string()
}

/// The separators of Python's `json.dumps`.
struct PythonFormatter;

impl Formatter for PythonFormatter {
    fn begin_array_value<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first {
            Ok(())
        } else {
            writer.write_all(b", ")
        }
    }

    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first {
            Ok(())
        } else {
            writer.write_all(b", ")
        }
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

/// Output that ends in an error before it fills memory.
#[derive(Default)]
pub(super) struct Capped(Vec<u8>);

impl Capped {
    pub(super) fn into_string(self) -> Result<String, Error> {
        String::from_utf8(self.0)
            .map_err(|error| Error::new(ErrorKind::InvalidOperation, error.to_string()))
    }
}

impl Write for Capped {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_OUTPUT_BYTES {
            return Err(io::Error::other(format!(
                "more than {} MiB of text",
                MAX_OUTPUT_BYTES >> 20
            )));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
