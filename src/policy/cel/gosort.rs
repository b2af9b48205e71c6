//! Go's `sort.Slice`, which is not stable: elements that compare as equal come out in its order.
//!
//! A pattern-defeating quicksort without any chance in it, so the order follows from the input alone.

/// Below this, insertion.
const SHORT: usize = 12;
/// From here on the pivot is a median of medians, and nearly sorted parts are mended.
const LONG: usize = 50;
const MOST_SWAPS: usize = 12;
const MOST_STEPS: usize = 5;

/// Sorts as Go does.
pub(crate) fn sort<T>(items: &mut [T], less: impl Fn(&T, &T) -> bool) {
    let end = items.len();
    let limit = usize::BITS - end.leading_zeros();
    Sorter { items, less }.sort(0, end, limit);
}

struct Sorter<'s, T, F> {
    items: &'s mut [T],
    less: F,
}

/// What the search for a pivot tells about the order.
#[derive(PartialEq, Eq)]
enum Hint {
    Unknown,
    Increasing,
    Decreasing,
}

impl<T, F: Fn(&T, &T) -> bool> Sorter<'_, T, F> {
    fn less(&self, a: usize, b: usize) -> bool {
        (self.less)(&self.items[a], &self.items[b])
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.items.swap(a, b);
    }

    fn sort(&mut self, mut a: usize, mut b: usize, mut limit: u32) {
        let (mut balanced, mut partitioned) = (true, true);
        loop {
            let length = b - a;
            if length <= SHORT {
                return self.insertion(a, b);
            }
            if limit == 0 {
                return self.heap(a, b);
            }
            if !balanced {
                self.break_patterns(a, b);
                limit -= 1;
            }
            let (mut pivot, mut hint) = self.choose_pivot(a, b);
            if hint == Hint::Decreasing {
                self.items[a..b].reverse();
                pivot = (b - 1) - (pivot - a);
                hint = Hint::Increasing;
            }
            if balanced && partitioned && hint == Hint::Increasing && self.mend(a, b) {
                return;
            }
            if a > 0 && !self.less(a - 1, pivot) {
                a = self.partition_equal(a, b, pivot);
                continue;
            }
            let (middle, already) = self.partition(a, b, pivot);
            partitioned = already;
            let (left, right) = (middle - a, b - middle);
            if left < right {
                balanced = left >= length / 8;
                self.sort(a, middle, limit);
                a = middle + 1;
            } else {
                balanced = right >= length / 8;
                self.sort(middle + 1, b, limit);
                b = middle;
            }
        }
    }

    fn insertion(&mut self, a: usize, b: usize) {
        for i in a + 1..b {
            let mut j = i;
            while j > a && self.less(j, j - 1) {
                self.swap(j, j - 1);
                j -= 1;
            }
        }
    }

    fn heap(&mut self, first: usize, b: usize) {
        let end = b - first;
        for i in (0..=(end - 1) / 2).rev() {
            self.sift_down(i, end, first);
        }
        for i in (0..end).rev() {
            self.swap(first, first + i);
            self.sift_down(0, i, first);
        }
    }

    fn sift_down(&mut self, mut root: usize, end: usize, first: usize) {
        loop {
            let mut child = 2 * root + 1;
            if child >= end {
                return;
            }
            if child + 1 < end && self.less(first + child, first + child + 1) {
                child += 1;
            }
            if !self.less(first + root, first + child) {
                return;
            }
            self.swap(first + root, first + child);
            root = child;
        }
    }

    fn partition(&mut self, a: usize, b: usize, pivot: usize) -> (usize, bool) {
        self.swap(a, pivot);
        let (mut i, mut j) = (a + 1, b - 1);
        let mut already = true;
        loop {
            while i <= j && self.less(i, a) {
                i += 1;
            }
            while i <= j && !self.less(j, a) {
                j -= 1;
            }
            if i > j {
                break;
            }
            already = false;
            self.swap(i, j);
            i += 1;
            j -= 1;
        }
        self.swap(j, a);
        (j, already)
    }

    fn partition_equal(&mut self, a: usize, b: usize, pivot: usize) -> usize {
        self.swap(a, pivot);
        let (mut i, mut j) = (a + 1, b - 1);
        loop {
            while i <= j && !self.less(a, i) {
                i += 1;
            }
            while i <= j && self.less(a, j) {
                j -= 1;
            }
            if i > j {
                return i;
            }
            self.swap(i, j);
            i += 1;
            j -= 1;
        }
    }

    /// Mends a few elements that are out of order; true if that was all.
    fn mend(&mut self, a: usize, b: usize) -> bool {
        let mut i = a + 1;
        for _ in 0..MOST_STEPS {
            while i < b && !self.less(i, i - 1) {
                i += 1;
            }
            if i == b {
                return true;
            }
            if b - a < LONG {
                return false;
            }
            self.swap(i, i - 1);
            if i - a >= 2 {
                for j in (1..i).rev() {
                    if !self.less(j, j - 1) {
                        break;
                    }
                    self.swap(j, j - 1);
                }
            }
            if b - i >= 2 {
                for j in i + 1..b {
                    if !self.less(j, j - 1) {
                        break;
                    }
                    self.swap(j, j - 1);
                }
            }
        }
        false
    }

    fn break_patterns(&mut self, a: usize, b: usize) {
        let length = b - a;
        if length < 8 {
            return;
        }
        let mut random = length as u64;
        let mask = (1_u64 << (usize::BITS - length.leading_zeros())) - 1;
        let middle = a + (length / 4) * 2;
        for index in middle - 1..=middle + 1 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let mut other = usize::try_from(random & mask).unwrap_or_default();
            if other >= length {
                other -= length;
            }
            self.swap(index, a + other);
        }
    }

    fn choose_pivot(&self, a: usize, b: usize) -> (usize, Hint) {
        let length = b - a;
        let mut swaps = 0;
        let quarter = length / 4;
        let mut candidates = [1, 2, 3].map(|times| a + quarter * times);
        let mut pivot = candidates[1];
        if length >= 8 {
            if length >= LONG {
                candidates = candidates.map(|at| self.median([at - 1, at, at + 1], &mut swaps));
            }
            pivot = self.median(candidates, &mut swaps);
        }
        let hint = match swaps {
            0 => Hint::Increasing,
            MOST_SWAPS => Hint::Decreasing,
            _ => Hint::Unknown,
        };
        (pivot, hint)
    }

    fn median(&self, [a, b, c]: [usize; 3], swaps: &mut usize) -> usize {
        let mut order = |a: usize, b: usize| {
            if self.less(b, a) {
                *swaps += 1;
                (b, a)
            } else {
                (a, b)
            }
        };
        let (a, b) = order(a, b);
        let (b, _) = order(b, c);
        order(a, b).1
    }
}

#[cfg(test)]
mod tests {
    use super::sort;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn everything_is_sorted(mut items in prop::collection::vec(0_u8..20, 0..400)) {
            sort(&mut items, |a, b| a < b);
            prop_assert!(items.is_sorted());
        }
    }
}
