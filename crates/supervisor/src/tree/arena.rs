//! Workers by index: no tasks, no locks, a few hundred bytes each.
//!
//! An index carries the life of its place, so one that outlived its worker finds nothing.

/// The place of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Index {
    place: u32,
    life: u32,
}

#[derive(Debug)]
struct Place<T> {
    life: u32,
    value: Option<T>,
}

/// Values by index.
#[derive(Debug)]
pub(crate) struct Arena<T> {
    places: Vec<Place<T>>,
    free: Vec<u32>,
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Arena<T> {
    pub(crate) fn insert(&mut self, value: T) -> Index {
        if let Some(place) = self.free.pop()
            && let Some(slot) = self.places.get_mut(place as usize)
        {
            slot.value = Some(value);
            return Index { place, life: slot.life };
        }
        let place = u32::try_from(self.places.len()).unwrap_or(u32::MAX);
        self.places.push(Place {
            life: 0,
            value: Some(value),
        });
        Index { place, life: 0 }
    }

    pub(crate) fn remove(&mut self, index: Index) -> Option<T> {
        let slot = self.places.get_mut(index.place as usize)?;
        if slot.life != index.life {
            return None;
        }
        let value = slot.value.take()?;
        slot.life = slot.life.wrapping_add(1);
        self.free.push(index.place);
        Some(value)
    }

    pub(crate) fn get(&self, index: Index) -> Option<&T> {
        let slot = self.places.get(index.place as usize)?;
        slot.value.as_ref().filter(|_| slot.life == index.life)
    }

    pub(crate) fn get_mut(&mut self, index: Index) -> Option<&mut T> {
        let slot = self.places.get_mut(index.place as usize)?;
        slot.value.as_mut().filter(|_| slot.life == index.life)
    }

    /// All of them, by place.
    pub(crate) fn indices(&self) -> impl Iterator<Item = Index> {
        self.places.iter().zip(0_u32..).filter_map(|(slot, place)| {
            slot.value.as_ref()?;
            Some(Index { place, life: slot.life })
        })
    }

    /// Who is at that place.
    pub(crate) fn index_at(&self, place: usize) -> Option<Index> {
        let slot = self.places.get(place)?;
        slot.value.as_ref()?;
        Some(Index {
            place: u32::try_from(place).ok()?,
            life: slot.life,
        })
    }

    /// How many places there are, empty ones included.
    pub(crate) fn places(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_that_outlived_its_worker_finds_nothing() {
        let mut arena = Arena::default();
        let first = arena.insert("first");
        assert_eq!(arena.remove(first), Some("first"));
        let second = arena.insert("second");
        assert_eq!((arena.get(first), arena.get(second)), (None, Some(&"second")));
        assert_eq!(arena.remove(first), None);
        assert_eq!(arena.len(), 1);
        assert_eq!(arena.indices().collect::<Vec<_>>(), [second]);
    }
}
