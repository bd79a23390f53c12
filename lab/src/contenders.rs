//! The contenders of this build, in the order in which they are listed and first measured.
//!
//! The only file that knows which features are on. A contender left out of the build does not
//! exist here; one whose engine is not installed does, and says so itself.

use lab_harness::Contender;

/// Every contender of this build.
pub(crate) fn all() -> Vec<&'static Contender> {
    let mut all = usual();
    let after_rust = usize::from(cfg!(feature = "remanent"));
    all.splice(after_rust..after_rust, in_c());
    all.extend(of_pairs_alone());
    all.extend(of_blocks_alone());
    all
}

/// The contenders of a run about memory that names none.
pub(crate) fn with_blocks() -> Vec<&'static Contender> {
    let mut all = usual();
    all.extend(of_blocks_alone());
    all.retain(|contender| !contender.block_settings().is_empty());
    all
}

/// The contenders of a run about small pairs that names none.
pub(crate) fn with_pairs() -> Vec<&'static Contender> {
    let mut all = usual();
    all.extend(of_pairs_alone());
    all
}

/// The contenders of a run that names none: Remanent through its Rust interface alone.
pub(crate) fn usual() -> Vec<&'static Contender> {
    vec![
        #[cfg(feature = "remanent")]
        &lab_remanent::REMANENT,
        &lab_collections::BTREE,
        &lab_collections::HASH,
        #[cfg(feature = "lmdb")]
        &lab_lmdb::LMDB,
        #[cfg(feature = "berkeley-db")]
        &lab_berkeley_db::BERKELEY_DB,
        #[cfg(feature = "sqlite")]
        &lab_sqlite::SQLITE,
        #[cfg(feature = "redb")]
        &lab_redb::REDB,
    ]
}

/// Who takes part with small pairs and in nothing else.
fn of_pairs_alone() -> Vec<&'static Contender> {
    vec![
        &lab_collections::ARRAY,
        #[cfg(feature = "rocksdb")]
        &lab_rocksdb::ROCKSDB,
    ]
}

/// Who allocates memory and does nothing else.
fn of_blocks_alone() -> Vec<&'static Contender> {
    vec![
        #[cfg(feature = "allocators")]
        &lab_allocators::MALLOC,
        #[cfg(feature = "allocators")]
        &lab_allocators::MIMALLOC,
        #[cfg(feature = "allocators")]
        &lab_allocators::JEMALLOC,
        #[cfg(feature = "allocators")]
        &lab_allocators::MMAP,
    ]
}

/// Remanent through its C interfaces.
fn in_c() -> Vec<&'static Contender> {
    vec![
        #[cfg(feature = "remanent-c")]
        &lab_remanent_c::NATIVE,
        #[cfg(feature = "remanent-c")]
        &lab_remanent_c::MCO,
        #[cfg(feature = "remanent-c")]
        &lab_remanent_c::D,
    ]
}

/// The words of `--interface`, each with the contender that it stands for.
pub(crate) const INTERFACES: [(&str, &str); 4] =
    [("rust", "remanent"), ("c", "remanent-c"), ("mco", "remanent-mco"), ("d", "remanent-d")];

/// Whether a contender is Remanent through an interface in C.
pub(crate) fn is_in_c(name: &str) -> bool {
    INTERFACES[1..].iter().any(|(_, known)| *known == name)
}

/// The contender of that name.
pub(crate) fn find(name: &str) -> Option<&'static Contender> {
    all().into_iter().find(|contender| contender.name == name)
}
