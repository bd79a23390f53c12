use super::*;

#[test]
fn what_an_interrupted_run_left_is_removed() {
    let parent = tempfile::tempdir().unwrap();
    // The largest process number Linux gives out is 4194304.
    let abandoned = parent.path().join("remanent-lab-999999999-x");
    let own = parent.path().join(format!("remanent-lab-{}-x", std::process::id()));
    let foreign = parent.path().join("somebody-else");
    for directory in [&abandoned, &own, &foreign] {
        fs::create_dir(directory).unwrap();
    }
    Scratch::new(parent.path()).unwrap();
    assert!(!abandoned.exists());
    assert!(own.exists() && foreign.exists());
}

#[test]
fn memory_needs_no_directory() {
    let parent = tempfile::tempdir().unwrap();
    let scratch = Scratch::new(parent.path()).unwrap();
    assert!(scratch.directory(Medium::Memory).unwrap().is_none());
}
