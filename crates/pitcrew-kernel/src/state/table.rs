//! A map whose keys are counters: dense, ordered and looked up by position.

use alloc::vec::Vec;
use core::{marker::PhantomData, ops::Index};
use pitcrew_model::{AttemptId, MessageId, PlanId, RequestId, TaskId, WorkerId};

/// An id that counts from 1.
pub trait Counter: Copy {
    fn number(self) -> u64;
    fn from_number(number: u64) -> Self;
}

macro_rules! counter {
    ($($name:ident),*) => {
        $(impl Counter for $name {
            fn number(self) -> u64 { self.0 }
            fn from_number(number: u64) -> Self { Self(number) }
        })*
    };
}
counter!(PlanId, TaskId, AttemptId, WorkerId, RequestId, MessageId);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table<K, V> {
    rows: Vec<V>,
    key: PhantomData<K>,
}

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self { rows: Vec::new(), key: PhantomData }
    }
}

impl<K: Counter, V> Table<K, V> {
    /// The id that the next row will have.
    pub fn next_id(&self) -> K {
        K::from_number(self.rows.len() as u64 + 1)
    }

    pub fn push(&mut self, key: K, value: V) {
        assert_eq!(key.number(), self.rows.len() as u64 + 1, "ids are given without gaps");
        self.rows.push(value);
    }

    pub fn get(&self, key: K) -> Option<&V> {
        self.rows.get(position(key)?)
    }

    pub fn row(&mut self, key: K) -> &mut V {
        position(key).and_then(|it| self.rows.get_mut(it)).expect("a stored id has its row")
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &V> {
        self.rows.iter()
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

impl<K: Counter, V> Index<K> for Table<K, V> {
    type Output = V;
    fn index(&self, key: K) -> &V {
        self.get(key).expect("a stored id has its row")
    }
}

fn position<K: Counter>(key: K) -> Option<usize> {
    usize::try_from(key.number()).ok()?.checked_sub(1)
}
