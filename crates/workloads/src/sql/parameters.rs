//! Room for the parameters of one statement after another.

use trueput_engine::Datum;

/// Memory that the parameters of a session's statements have in turns, so that none allocates. They
/// may be borrowed from rows that live no longer than one statement.
#[derive(Debug, Default)]
pub(crate) struct ParameterBuffer {
    room: Vec<Datum<'static>>,
}

impl ParameterBuffer {
    /// Takes the room, which is empty, for parameters of any lifetime. Where a statement fails and
    /// it is not put back, the next one has new room.
    pub(crate) fn take<'p>(&mut self) -> Vec<Datum<'p>> {
        std::mem::take(&mut self.room)
    }

    /// Puts the room back.
    pub(crate) fn put_back(&mut self, mut parameters: Vec<Datum<'_>>) {
        parameters.clear();
        // None is left to be mapped, and the standard library keeps the allocation.
        self.room = parameters.into_iter().map(|_| Datum::Null).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory_of(parameters: &Vec<Datum<'_>>) -> (*const (), usize) {
        (parameters.as_ptr().cast(), parameters.capacity())
    }

    #[test]
    fn parameters_of_any_lifetime_have_the_same_memory() {
        let mut buffer = ParameterBuffer::default();
        let first_memory = {
            let text = "first".to_owned();
            let mut parameters = buffer.take();
            assert_eq!((parameters.len(), parameters.capacity()), (0, 0));
            parameters.reserve(100);
            parameters.push(Datum::Text(&text));
            let memory = memory_of(&parameters);
            buffer.put_back(parameters);
            memory
        };
        let text = "second".to_owned();
        let mut parameters = buffer.take();
        assert!(parameters.is_empty());
        assert_eq!(memory_of(&parameters), first_memory);
        parameters.push(Datum::Text(&text));
        assert_eq!(memory_of(&parameters), first_memory);
    }
}
