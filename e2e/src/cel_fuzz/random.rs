//! Numbers that look random and are the same for the same seed, on every machine.

/// SplitMix64: small, and good enough to choose with.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The stream of one expression of a run, so that any expression can be made again without the ones before it.
    #[must_use]
    pub fn new(seed: u64, index: u64) -> Self {
        let mut mixed = Self(seed ^ index.wrapping_mul(0xD134_2543_DE82_EF95));
        mixed.draw();
        mixed
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is not zero.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.draw() % end.max(1) as u64).unwrap_or_default()
    }

    /// True in so many of a hundred cases.
    pub fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    /// True in so many of a thousand cases.
    pub fn permille(&mut self, chance: usize) -> bool {
        self.below(1000) < chance
    }

    /// One of several, which are not none.
    pub fn pick<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }

    /// Puts them in another order, any of which is as likely.
    pub fn shuffle<T>(&mut self, all: &mut [T]) {
        for last in (1..all.len()).rev() {
            all.swap(last, self.below(last + 1));
        }
    }

    /// One of several, if there are any.
    pub fn choose<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.get(self.below(of.len()))
    }
}
