//! Tests that mostly wait are begun together. cargo runs as many at one time as there are cores, and one after the other they take
//! three times as long.

use std::{
    any::Any,
    collections::BTreeMap,
    env,
    sync::{Mutex, OnceLock, PoisonError},
    thread::{self, JoinHandle},
};

type Name = &'static str;
type Begun = BTreeMap<Name, JoinHandle<()>>;

/// Ends with one of them. Whoever runs first begins all.
pub fn join(all: &[(Name, fn())], name: Name) {
    static BEGUN: OnceLock<Mutex<Begun>> = OnceLock::new();
    let begun = BEGUN.get_or_init(|| {
        let of = all.iter().filter(|(its, _)| is_wanted(its));
        Mutex::new(of.map(|(name, test)| (*name, thread::spawn(*test))).collect())
    });
    let own = begun.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    match own.map(JoinHandle::join) {
        Some(Ok(())) => {}
        // Said again, for what a thread says is kept for the test that began it.
        Some(Err(panic)) => panic!("{}", words(&*panic)),
        None => all.iter().filter(|(its, _)| *its == name).for_each(|(_, test)| test()),
    }
}

/// Whether its name is among those that were asked for, if any were.
fn is_wanted(name: &str) -> bool {
    let mut asked = env::args().skip(1).filter(|it| !it.starts_with('-')).peekable();
    asked.peek().is_none() || asked.any(|it| name.contains(&it))
}

fn words(panic: &(dyn Any + Send)) -> String {
    let said = panic.downcast_ref::<&str>().map(|it| (*it).to_owned());
    said.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".to_owned())
}

/// Names them once: as tests, and as what is begun.
macro_rules! together {
    ($($module:ident::$name:ident,)*) => {
        const ALL: &[(&str, fn())] = &[$((stringify!($name), $module::$name)),*];
        $(#[test]
        fn $name() {
            $crate::together::join(ALL, stringify!($name));
        })*
    };
}
pub(crate) use together;
