//! The contenders of this build, in the order in which they are listed and first measured.
//!
//! The only file that knows which features are on. A contender left out of the build does not
//! exist here; one whose engine is not installed does, and says so itself.

use lab_harness::Contender;

/// Every contender of this build.
pub(crate) fn all() -> Vec<&'static dyn Contender> {
    vec![
        #[cfg(feature = "remanent")]
        &lab_remanent::Remanent,
        &lab_collections::BTree,
        &lab_collections::Hash,
        #[cfg(feature = "lmdb")]
        &lab_lmdb::Lmdb,
        #[cfg(feature = "berkeley-db")]
        &lab_berkeley_db::BerkeleyDb,
        #[cfg(feature = "sqlite")]
        &lab_sqlite::Sqlite,
        #[cfg(feature = "redb")]
        &lab_redb::Redb,
    ]
}

/// The contender of that name.
pub(crate) fn find(name: &str) -> Option<&'static dyn Contender> {
    all().into_iter().find(|contender| contender.name() == name)
}
