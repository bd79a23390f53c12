use super::*;

/// A device of 4 MB a second: a page takes a millisecond.
fn device() -> Device {
    Device::new(1000 * PAGE)
}

#[test]
fn a_page_is_read_once_and_reads_queue_up() {
    let device = device();
    let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
    let begin = Instant::now() + Duration::from_secs(1);
    let ask = |file: &Arc<str>, at, len| device.ask(begin, file, at, len);
    let first = ask(&a, 0, 3 * PAGE);
    let of_pages = |count: u32| Duration::from_millis(1) * count;
    assert_eq!(first, begin + LATENCY + of_pages(3), "three pages");
    assert_eq!(device.busy(), of_pages(3));
    // A byte of the next page, one of a page that is there, and another file.
    let second = ask(&a, 3 * PAGE - 1, 2);
    assert_eq!(second, first + of_pages(1));
    assert!(ask(&a, PAGE, PAGE) <= first);
    assert_eq!(ask(&b, 0, 1), second + of_pages(1));
    assert_eq!(device.busy(), of_pages(5));
    device.forget();
    assert!(ask(&a, 0, 1) < first, "nobody waits for what was asked for before");
    assert_eq!(device.busy(), of_pages(6));
}

#[test]
fn who_announces_does_not_wait() {
    let path = std::env::temp_dir().join(format!("remanent-device-{}", std::process::id()));
    let folder = Folder::create(&path).expect("a folder");
    let device = Arc::new(device());
    let storage = SlowFolder { folder, device: Arc::clone(&device) };
    let file = storage.create("f").expect("a file");
    let content: Vec<u8> = (0..20 * PAGE).map(|at| (at % 251) as u8).collect();
    assert_eq!(file.write_at(0, &content).expect("there is room"), content.len());
    let mut bytes = vec![0; content.len()];
    let begin = Instant::now();
    assert_eq!(file.read_at(0, &mut bytes).expect("it is there"), bytes.len());
    assert!(bytes == content && begin.elapsed() >= Duration::from_millis(20));
    device.forget();
    file.will_read(0, content.len() as u64);
    thread::sleep(Duration::from_millis(25));
    let busy = device.busy();
    file.read_at(0, &mut bytes).expect("it is there");
    assert_eq!(device.busy(), busy, "it was read already");
    std::fs::remove_dir_all(&path).expect("it is there");
}
