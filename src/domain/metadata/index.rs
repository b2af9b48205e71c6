//! Which index the next machine gets.

use std::collections::BTreeSet;

/// The lowest index that is not in use: those of deleted machines are given again, so that a
/// replaced machine has the metadata of the one before it.
#[must_use]
pub fn lowest_free_index(used: &BTreeSet<u32>) -> u32 {
    let is_in_place = |(index, used): &(u32, &u32)| index == *used;
    let taken_from_zero_on = (0..u32::MAX).zip(used).take_while(is_in_place).last();
    taken_from_zero_on.map_or(0, |(index, _)| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::btree_set, prelude::*};
    use rstest::rstest;

    #[rstest]
    #[case::none_used([], 0)]
    #[case::a_row([0, 1, 2], 3)]
    #[case::first_one_free([1, 2, 3], 0)]
    #[case::a_gap([0, 1, 3], 2)]
    #[case::far_away([u32::MAX], 0)]
    fn the_lowest_gap_is_taken(#[case] used: impl IntoIterator<Item = u32>, #[case] free: u32) {
        assert_eq!(lowest_free_index(&used.into_iter().collect()), free);
    }

    proptest! {
        #[test]
        fn the_index_is_free_and_all_below_are_used(used in btree_set(0..20_u32, 0..20)) {
            let free = lowest_free_index(&used);
            prop_assert!(!used.contains(&free));
            prop_assert!((0..free).all(|index| used.contains(&index)));
        }
    }
}
