//! A map whose keys are counters: dense, ordered and indexed by position. The oldest rows may be
//! dropped.

use alloc::collections::VecDeque;
use core::{marker::PhantomData, ops::Index};
use pitcrew_model::{AttemptId, MessageId, PlanId, QueryId, RequestId, TaskId, WorkerId};

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
counter!(PlanId, TaskId, AttemptId, WorkerId, RequestId, MessageId, QueryId);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table<K, V> {
    rows: VecDeque<V>,
    /// The number of dropped rows.
    gone_count: u64,
    key: PhantomData<K>,
}

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self { rows: VecDeque::new(), gone_count: 0, key: PhantomData }
    }
}

impl<K: Counter, V> Table<K, V> {
    /// Returns the id of the next row.
    pub fn next_id(&self) -> K {
        K::from_number(self.gone_count + self.rows.len() as u64 + 1)
    }

    pub fn push(&mut self, key: K, value: V) {
        assert_eq!(key.number(), self.next_id().number(), "ids are given without gaps");
        self.rows.push_back(value);
    }

    pub fn get(&self, key: K) -> Option<&V> {
        self.rows.get(self.position(key)?)
    }

    pub fn row(&mut self, key: K) -> &mut V {
        let position = self.position(key);
        position.and_then(|it| self.rows.get_mut(it)).expect("a stored id has its row")
    }

    /// Returns whether the row existed and was dropped.
    pub fn is_gone(&self, key: K) -> bool {
        (1..=self.gone_count).contains(&key.number())
    }

    /// Drops the oldest rows while `is_over` holds, but keeps `keep_count`.
    pub fn forget(&mut self, keep_count: usize, is_over: impl Fn(&V) -> bool) {
        while self.rows.len() > keep_count && self.rows.front().is_some_and(&is_over) {
            self.rows.pop_front();
            self.gone_count += 1;
        }
    }

    fn position(&self, key: K) -> Option<usize> {
        usize::try_from(key.number().checked_sub(self.gone_count + 1)?).ok()
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
