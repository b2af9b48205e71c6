//! Patterns that the rules of several kinds use.

/// A MAC address.
pub(super) const MAC_ADDRESS: &str = "^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}$";

/// A duration as Go writes it, which CEL's `duration` reads too; as much of it as a timeout needs.
/// For use between single quotes in CEL, where a backslash is doubled.
pub(super) const DURATION: &str = r"^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$";
