//! Sorts tasks topologically. Rejects duplicates, unknown dependencies and cycles.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    string::String,
    vec,
    vec::Vec,
};
use pitcrew_model::{Rejection, TaskSpec};

/// A task by its position in the plan, with the positions of its dependencies.
pub struct Placed {
    pub task: usize,
    pub dependencies: Vec<usize>,
}

/// Returns the tasks with dependencies first; otherwise in the order of the file.
pub fn topological(tasks: &[TaskSpec]) -> Result<Vec<Placed>, Rejection> {
    let places = places(tasks)?;
    let dependencies = dependencies(tasks, &places)?;
    let mut dependents = vec![Vec::new(); tasks.len()];
    let mut waiting: Vec<usize> = dependencies.iter().map(Vec::len).collect();
    for (task, needed) in dependencies.iter().enumerate() {
        for dependency in needed {
            dependents[*dependency].push(task);
        }
    }
    let mut ready: BTreeSet<usize> = (0..tasks.len()).filter(|it| waiting[*it] == 0).collect();
    let mut order = Vec::with_capacity(tasks.len());
    while let Some(task) = ready.pop_first() {
        order.push(Placed { task, dependencies: dependencies[task].clone() });
        for dependent in &dependents[task] {
            waiting[*dependent] -= 1;
            if waiting[*dependent] == 0 {
                ready.insert(*dependent);
            }
        }
    }
    if order.len() < tasks.len() {
        return Err(Rejection::Cycle { cycle: cycle(tasks, &dependencies, &waiting) });
    }
    Ok(order)
}

fn places(tasks: &[TaskSpec]) -> Result<BTreeMap<&str, usize>, Rejection> {
    let mut places = BTreeMap::new();
    for (place, task) in tasks.iter().enumerate() {
        if places.insert(task.key.as_str(), place).is_some() {
            return Err(Rejection::DuplicateTask { key: task.key.clone(), known: None });
        }
    }
    Ok(places)
}

fn dependencies(
    tasks: &[TaskSpec],
    places: &BTreeMap<&str, usize>,
) -> Result<Vec<Vec<usize>>, Rejection> {
    let of_task = |task: &TaskSpec| {
        let unique: BTreeSet<&String> = task.depends_on.iter().collect();
        let place = |key: &String| {
            places.get(key.as_str()).copied().ok_or_else(|| Rejection::UnknownDependency {
                key: task.key.clone(),
                missing: key.clone(),
            })
        };
        unique.into_iter().map(place).collect()
    };
    tasks.iter().map(of_task).collect()
}

/// Follows unmet dependencies until a task repeats.
fn cycle(tasks: &[TaskSpec], dependencies: &[Vec<usize>], waiting: &[usize]) -> Vec<String> {
    let mut path: Vec<usize> = Vec::new();
    let mut here = waiting.iter().position(|it| *it > 0).expect("some task is left over");
    while !path.contains(&here) {
        path.push(here);
        here = *dependencies[here]
            .iter()
            .find(|it| waiting[**it] > 0)
            .expect("a task that is left over waits for another that is");
    }
    let start = path.iter().position(|it| *it == here).expect("it came up twice");
    path.drain(..start);
    path.push(here);
    path.into_iter().map(|it| tasks[it].key.clone()).collect()
}
