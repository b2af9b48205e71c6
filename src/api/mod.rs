//! The kinds as they are on the wire, and the CustomResourceDefinitions generated from them.
