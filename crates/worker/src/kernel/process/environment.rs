//! Environments of known size, for programs that are started.

use std::ffi::c_char;

/// The length of a variable with its NUL: that of many.
const VARIABLE_BYTES: usize = 64;

/// Variables of 64 bytes each.
pub struct Environment {
    /// What the pointers point into: its heap part stays where it is.
    _variables: Vec<u8>,
    /// A null-terminated array.
    pointers: Vec<*const c_char>,
}

impl Environment {
    /// As many variables as fit into `bytes` bytes.
    pub fn new(bytes: usize) -> Self {
        let count = bytes / VARIABLE_BYTES;
        let mut variables = Vec::with_capacity(count * VARIABLE_BYTES);
        for number in 0..count {
            let mut variable = format!("OSCOST_{number:06}=").into_bytes();
            variable.resize(VARIABLE_BYTES - 1, b'x');
            variable.push(0);
            variables.extend_from_slice(&variable);
        }
        let starts = variables.chunks_exact(VARIABLE_BYTES);
        let mut pointers: Vec<*const c_char> =
            starts.map(|variable| variable.as_ptr().cast()).collect();
        pointers.push(std::ptr::null());
        Self { _variables: variables, pointers }
    }

    /// The number of variables.
    pub fn len(&self) -> usize {
        self.pointers.len() - 1
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A null-terminated array of NUL-terminated strings, which live as long as this.
    #[inline(always)]
    pub(super) fn array(&self) -> *const *const c_char {
        self.pointers.as_ptr()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_has_as_many_bytes_as_were_asked_for() {
        for (bytes, variables) in [(0, 0), (64, 1), (4_096, 64), (65_536, 1_024)] {
            let environment = Environment::new(bytes);
            assert_eq!(environment.len(), variables);
            assert_eq!(environment.is_empty(), variables == 0);
            assert_eq!(environment.pointers.last(), Some(&std::ptr::null()));
            for &at in &environment.pointers[..variables] {
                // SAFETY: each is NUL-terminated, and lives as long as the environment.
                let variable = unsafe { std::ffi::CStr::from_ptr(at) };
                assert_eq!(variable.count_bytes() + 1, VARIABLE_BYTES);
            }
        }
    }
}
