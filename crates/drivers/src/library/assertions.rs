//! Whether a library was compiled with its assertions.
//!
//! That a library imports `__assert_fail` says little: release builds carry a few assertions of
//! what is linked into them. So the calls are counted: the machine code is searched for calls of
//! the entry in the linkage table that jumps to `__assert_fail`. RocksDB's published library has
//! 163 in 14 MiB, Debian's build of it, which has its assertions, 6,390 in 11 MiB.

use super::FileCache;
use object::elf::{R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT};
use object::read::ReadCache;
use object::{
    Architecture, Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationFlags,
    RelocationTarget, SectionKind,
};
use std::fs::File;
use std::path::Path;

/// Calls in so much code, and more, mean that assertions were compiled in.
const MIN_PER_MIB: u64 = 100;

/// The assertions in a library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Assertions {
    /// Places that call `__assert_fail`.
    sites: u64,
    /// Machine code, bytes.
    code_bytes: u64,
}

impl Assertions {
    /// Whether the library's own assertions are in it.
    fn are_compiled_in(self) -> bool {
        self.sites << 20 >= MIN_PER_MIB * self.code_bytes && self.sites > 0
    }
}

/// Whether the library at `path` was compiled with assertions; `None` if it cannot be determined:
/// the machine is not an x86-64, or the file is not a library.
pub(crate) fn assertions(path: &Path) -> Option<bool> {
    static COUNTED: FileCache<Option<Assertions>> = FileCache::new();
    let counted = COUNTED.get(path, |path| Ok(count(path))).ok()?;
    counted.map(Assertions::are_compiled_in)
}

fn count(path: &Path) -> Option<Assertions> {
    let cache = ReadCache::new(File::open(path).ok()?);
    let object = object::File::parse(&cache).ok()?;
    if object.architecture() != Architecture::X86_64 {
        return None;
    }
    let sections: Vec<(u64, &[u8])> = object
        .sections()
        .filter(|section| section.kind() == SectionKind::Text)
        .map(|section| Some((section.address(), section.data().ok()?)))
        .collect::<Option<_>>()?;
    let code_bytes = sections.iter().map(|(_, code)| code.len() as u64).sum();
    let sites = slots(&object)
        .into_iter()
        .map(|slot| calls(&sections, slot))
        .sum();
    Some(Assertions { sites, code_bytes })
}

/// The addresses at which the loader puts the address of `__assert_fail`.
fn slots<'data>(object: &impl Object<'data>) -> Vec<u64> {
    let is_assertion = |target| match target {
        RelocationTarget::Symbol(index) => {
            let table = object.dynamic_symbol_table();
            let symbol = table.and_then(|table| {
                table
                    .symbol_by_index(index)
                    .ok()?
                    .name()
                    .ok()
                    .map(str::to_owned)
            });
            symbol.as_deref() == Some("__assert_fail")
        }
        _ => false,
    };
    let relocations = object.dynamic_relocations().into_iter().flatten();
    relocations
        .filter(|(_, relocation)| {
            let RelocationFlags::Elf { r_type } = relocation.flags() else {
                return false;
            };
            [R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT].contains(&r_type)
                && is_assertion(relocation.target())
        })
        .map(|(address, _)| address)
        .collect()
}

/// Counts the calls of the function in a slot: through entries of the linkage table, and directly.
fn calls(sections: &[(u64, &[u8])], slot: u64) -> u64 {
    // `jmp *slot(%rip)` is FF 25 and `call *slot(%rip)` FF 15, each with a distance of 4 bytes.
    let entries = places(sections, &[0xFF, 0x25], slot);
    let through_entry = |target: u64| {
        // A call goes to the jump, or to an `endbr64` or `bnd` that is before it.
        entries
            .iter()
            .any(|entry| entry.checked_sub(target).is_some_and(|gap| gap <= 5))
    };
    let direct = targets(sections, &[0xE8])
        .filter(|(_, target)| through_entry(*target))
        .count();
    direct as u64 + places(sections, &[0xFF, 0x15], slot).len() as u64
}

/// Finds the instructions that begin with `opcode` and refer to `target`.
fn places(sections: &[(u64, &[u8])], opcode: &[u8], target: u64) -> Vec<u64> {
    let here = targets(sections, opcode).filter(|(_, to)| *to == target);
    here.map(|(address, _)| address).collect()
}

/// Every position where `opcode` could be, and the address that its 4-byte offset, counted from its
/// end, refers to. Other code may contain the same bytes by chance, but refers to a given address
/// in only one of 2^32 cases.
fn targets<'a>(
    sections: &'a [(u64, &'a [u8])],
    opcode: &'a [u8],
) -> impl Iterator<Item = (u64, u64)> + 'a {
    let length = opcode.len() + 4;
    sections.iter().flat_map(move |&(start, code)| {
        let places = code.windows(length).enumerate();
        places
            .filter(move |(_, bytes)| bytes.starts_with(opcode))
            .filter_map(move |(offset, bytes)| {
                let distance = i32::from_le_bytes(bytes[opcode.len()..].try_into().ok()?);
                let address = start + offset as u64;
                let end = address + length as u64;
                Some((address, end.wrapping_add_signed(i64::from(distance))))
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// A library of twenty functions, each with an assertion, compiled with the given options.
    fn compiled(folder: &Path, options: &[&str]) -> Option<Assertions> {
        let source = folder.join("checked.c");
        let body = (0..20).fold("#include <assert.h>\n".to_owned(), |text, number| {
            text + &format!("int f{number}(int x) {{ assert(x > {number}); return x; }}\n")
        });
        std::fs::write(&source, body).unwrap();
        let library = folder.join("checked.so");
        let mut compiler = Command::new("cc");
        compiler
            .args(["-O2", "-shared", "-fPIC", "-o"])
            .arg(&library)
            .arg(&source)
            .args(options);
        assert!(compiler.status().unwrap().success());
        count(&library)
    }

    #[test]
    fn assertions_are_counted_where_they_were_compiled_in() {
        if cfg!(not(target_arch = "x86_64")) {
            eprintln!("skipped: assertions are counted on x86-64 only");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        for options in [
            &[] as &[&str],
            &["-fno-plt"],
            &["-Wl,-z,now"],
            &["-fcf-protection"],
        ] {
            let found = compiled(folder.path(), options).unwrap();
            assert_eq!(found.sites, 20, "{options:?}");
            assert!(found.are_compiled_in());
        }
        let without = compiled(folder.path(), &["-DNDEBUG"]).unwrap();
        assert_eq!(without.sites, 0);
        assert!(!without.are_compiled_in());
    }

    #[test]
    fn a_few_assertions_of_others_do_not_count() {
        let published = Assertions {
            sites: 163,
            code_bytes: 14_700_000,
        };
        assert!(!published.are_compiled_in());
        let debian = Assertions {
            sites: 6_390,
            code_bytes: 11_200_000,
        };
        assert!(debian.are_compiled_in());
    }
}
