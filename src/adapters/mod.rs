//! All I/O, one outside thing per file.
