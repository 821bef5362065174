//! Progress of getting a model: plain data for whoever shows it.

/// Progress of fetching one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// The file's name, for people.
    pub what: String,
    /// Where it comes from or what is being done, for people: `hub`, `pip`, `checking sha256`.
    pub how: String,
    /// Bytes so far.
    pub done: u64,
    /// Bytes in all, where known.
    pub total: Option<u64>,
}

/// Progress of loading one model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loading {
    /// The model's name, for people.
    pub what: String,
    /// Bytes of weights read so far.
    pub done: u64,
    /// Bytes of weights in all.
    pub total: u64,
}
