//! The page allocator against a model: a list of the runs that are out.
//!
//! Runs are taken and given back at random. No two overlap, the budget is kept to the byte, the
//! reserve is only for emergency allocations, and when all are back they have merged into one.

use proptest::prelude::*;

use super::*;

const BUDGET: u64 = 4 << 20;

#[derive(Clone, Debug)]
enum Step {
    Take { count: u32, class: AllocationClass },
    GiveBack { pick: usize },
}

fn step() -> impl Strategy<Value = Step> {
    let count = prop_oneof![5 => 1..4u32, 3 => 1..20u32, 1 => 20..100u32];
    let class = prop_oneof![
        4 => Just(AllocationClass::Normal),
        1 => Just(AllocationClass::Emergency),
    ];
    prop_oneof![
        5 => (count, class)
            .prop_map(|(count, class)| Step::Take { count, class }),
        4 => any::<u16>().prop_map(|pick| Step::GiveBack { pick: usize::from(pick) }),
    ]
}

/// A formatted region, and the bytes in use while no page is.
fn region() -> (Region, u64) {
    let region = Region::reserve(BUDGET).expect("addresses");
    let account = &region.header().account;
    account.set_budget(BUDGET);
    format(&region).expect("room for the page table");
    let used = account.used.load(Relaxed);
    (region, used)
}

fn overlap(runs: &[(u32, u32)], page: u32, count: u32) -> bool {
    runs.iter().any(|&(other, length)| page < other + length && other < page + count)
}

fn run(steps: Vec<Step>) {
    let (region, empty) = region();
    let account = &region.header().account;
    let limit = BUDGET - account.reserve.load(Relaxed);
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for step in steps {
        let used = account.used.load(Relaxed);
        match step {
            Step::Take { count, class } => {
                let bytes = u64::from(count) << PAGE_SHIFT;
                let allowed = if class == AllocationClass::Emergency { BUDGET } else { limit };
                match take_pages(&region, count, PageKind::RUN, class) {
                    Ok(page) => {
                        assert!(used + bytes <= allowed, "beyond the budget");
                        assert!(!overlap(&runs, page, count), "a page is out twice");
                        assert!(u64::from(page + count) << PAGE_SHIFT <= BUDGET);
                        assert!(is_run(&region, page) && run_length(&region, page) == count);
                        runs.push((page, count));
                    }
                    // One page is there as long as the budget is; long runs may not be.
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::BudgetReached);
                        assert!(used + bytes > allowed || count > 1, "a free page was refused");
                    }
                }
            }
            Step::GiveBack { pick } if !runs.is_empty() => {
                let (page, _) = runs.swap_remove(pick % runs.len());
                give_back(&region, page);
            }
            Step::GiveBack { .. } => {}
        }
        let out = runs.iter().map(|&(_, count)| u64::from(count) << PAGE_SHIFT).sum::<u64>();
        assert_eq!(account.used.load(Relaxed), empty + out);
    }
    runs.iter().for_each(|&(page, _)| give_back(&region, page));
    assert_eq!(account.used.load(Relaxed), empty);
    let state = &region.header().pages;
    let all = state.frontier.load(Relaxed) - state.first.load(Relaxed);
    if all > 0 {
        let page = take_pages(&region, all, PageKind::RUN, AllocationClass::Emergency);
        assert_eq!(page.ok(), Some(state.first.load(Relaxed)), "free runs have merged");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn runs_do_not_overlap_and_merge(steps in prop::collection::vec(step(), 1..300)) {
        run(steps);
    }
}

#[test]
fn the_budget_is_exact() {
    let (region, empty) = region();
    let account = &region.header().account;
    let reserve = account.reserve.load(Relaxed);
    let fill = |class| {
        let page = || take_pages(&region, 1, PageKind::RUN, class).ok();
        std::iter::from_fn(page).count() as u64
    };
    assert_eq!(fill(AllocationClass::Normal), (BUDGET - reserve - empty) >> PAGE_SHIFT);
    assert!(fill(AllocationClass::Emergency) >= (reserve >> PAGE_SHIFT) - 1);
    assert!(account.used.load(Relaxed) <= BUDGET);
}
