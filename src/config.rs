//! The configuration: built-in defaults, then the file, then the command line.
