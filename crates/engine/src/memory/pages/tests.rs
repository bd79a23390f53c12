//! The page allocator against a model: a list of the runs that are out.
//!
//! Runs are taken and given back at random. No two overlap, the budget is kept to the byte, the
//! reserve is only for those entitled to it, and when all are back they have merged into one.

use proptest::prelude::*;

use super::*;

const BUDGET: u64 = 4 << 20;

#[derive(Clone, Debug)]
enum Step {
    Take { count: u32, entitlement: Entitlement },
    GiveBack { pick: usize },
}

fn step() -> impl Strategy<Value = Step> {
    let count = prop_oneof![5 => 1..4u32, 3 => 1..20u32, 1 => 20..100u32];
    let entitlement = prop_oneof![
        4 => Just(Entitlement::Ordinary),
        1 => Just(Entitlement::Reserve),
    ];
    prop_oneof![
        5 => (count, entitlement)
            .prop_map(|(count, entitlement)| Step::Take { count, entitlement }),
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
            Step::Take { count, entitlement } => {
                let bytes = u64::from(count) << PAGE_SHIFT;
                let allowed = if entitlement == Entitlement::Reserve { BUDGET } else { limit };
                match take(&region, count, PageKind::RUN, entitlement) {
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
        let page = take(&region, all, PageKind::RUN, Entitlement::Reserve);
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
    let fill = |entitlement| {
        let page = || take(&region, 1, PageKind::RUN, entitlement).ok();
        std::iter::from_fn(page).count() as u64
    };
    assert_eq!(fill(Entitlement::Ordinary), (BUDGET - reserve - empty) >> PAGE_SHIFT);
    assert!(fill(Entitlement::Reserve) >= (reserve >> PAGE_SHIFT) - 1);
    assert!(account.used.load(Relaxed) <= BUDGET);
}
